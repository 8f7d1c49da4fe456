"""One tool call: made ready, permitted, run behind a boundary, and fit for the wire."""
