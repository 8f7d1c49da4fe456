"""What the person configured, from files, environment and options, and where each value came from."""
