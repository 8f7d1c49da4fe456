"""Run a notebook from the command line, in a real kernel, with a person at the terminal."""
