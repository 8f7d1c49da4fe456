"""How a small model is asked, so that a call comes out of it."""
