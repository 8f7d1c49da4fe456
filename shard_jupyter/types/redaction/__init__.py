"""What must not leave this machine, and how it is recognised."""
