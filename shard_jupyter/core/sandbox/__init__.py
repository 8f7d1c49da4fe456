"""Which sandbox an agent's commands run in, what they may reach there, and what they changed."""
