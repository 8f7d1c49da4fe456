"""How records get from one process to another: the same protocol over whatever carries bytes."""
