"""Routing and retrying of model calls. No SDK, no wire."""
