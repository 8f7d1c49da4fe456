"""Counts the words of a text."""
