"""The programs that can serve a GGUF file, behind one contract."""
