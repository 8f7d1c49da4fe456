"""What rules and grants make of a call, for the command line."""
