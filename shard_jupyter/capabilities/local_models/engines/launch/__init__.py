"""What runs in the child process: a file, run by an isolated interpreter, never imported by us."""
