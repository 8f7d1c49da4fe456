"""How much memory there is, and how much context of a model fits in it."""
