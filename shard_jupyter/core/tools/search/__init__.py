"""What grep and find share: which files there are, and which lines of them match."""
