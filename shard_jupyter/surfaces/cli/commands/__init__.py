"""One module a command, imported once that command was chosen. Each has `run_command`."""
