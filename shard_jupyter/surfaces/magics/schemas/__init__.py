"""The two kinds of answer schema, and how a misfit is told."""
