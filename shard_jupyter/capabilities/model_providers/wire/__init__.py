"""Our messages in each vendor's shape."""
