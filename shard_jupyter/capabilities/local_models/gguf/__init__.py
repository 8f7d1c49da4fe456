"""What a GGUF file says of itself, read before native code sees it."""
