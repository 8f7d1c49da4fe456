"""Permission: rules, grants, the gate, and what happens when nobody can be asked."""
