"""The models that can be fetched, and how they come here."""
