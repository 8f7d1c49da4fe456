"""Embedding an agent in a program: the loop runs in this process, there is no socket."""
