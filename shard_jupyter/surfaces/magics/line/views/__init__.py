"""What the commands return: data for Python that shows itself in every form."""
