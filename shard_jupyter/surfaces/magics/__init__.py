"""`%%shard` and `%shard` in any IPython: a client of the agent process, nothing of an agent itself."""
