"""What stands behind `%shard`: its line is read, a command is chosen, and a view is returned."""
