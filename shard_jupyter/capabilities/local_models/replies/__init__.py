"""What a model wrote, read while it is written and checked before anything is made of it."""
