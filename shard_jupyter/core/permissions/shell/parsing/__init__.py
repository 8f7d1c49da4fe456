"""From the text of a command to its words: two readers that must agree."""
