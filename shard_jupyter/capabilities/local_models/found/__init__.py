"""GGUF files that lie on this machine already; only ever read."""
