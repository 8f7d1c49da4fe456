"""Descriptors without JavaScript: plain text for terminals and for the `text/plain` of a cell."""
