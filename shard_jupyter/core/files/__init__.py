"""Files: where a path really leads, who may change it now, and how it is replaced."""
