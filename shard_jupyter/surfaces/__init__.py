"""L4: how people and machines reach an agent."""
