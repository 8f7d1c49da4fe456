"""Text as bytes: lines, encodings, diffs, and what is shown of too much."""
