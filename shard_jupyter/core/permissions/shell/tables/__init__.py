"""What is known of programs, option by option. What is not in a table is not understood."""
