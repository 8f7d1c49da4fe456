"""One module a command, imported once that command was called. Each has `run_command`."""
