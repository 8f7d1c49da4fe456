"""One run of a cell: where it runs, what happens to it, whom it asks, how it ends."""
