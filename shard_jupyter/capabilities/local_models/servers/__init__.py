"""The child processes that serve models: started, watched, shared and stopped."""
