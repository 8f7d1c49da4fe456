"""Where a model file can come from. Each source makes the same file, byte for byte."""
