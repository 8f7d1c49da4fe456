"""What a cell shows, for each kind of client."""
