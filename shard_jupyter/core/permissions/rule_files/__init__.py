"""Rules and grants in files: where they lie, how they are read, kept and taken back."""
