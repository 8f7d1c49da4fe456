"""What a person has to know of a call before answering: found out here, shown by surfaces."""
