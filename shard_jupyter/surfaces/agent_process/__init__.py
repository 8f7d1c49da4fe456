"""A process that holds agents and serves them to one client, which is whoever started it."""
