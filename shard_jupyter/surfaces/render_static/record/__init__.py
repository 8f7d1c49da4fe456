"""What a record holds, and how events become its items."""
