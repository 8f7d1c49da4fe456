"""The prose of a model: made harmless, then made HTML."""
