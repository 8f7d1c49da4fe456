"""What a run may cost."""
