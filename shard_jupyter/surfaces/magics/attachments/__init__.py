"""What a prompt names with `@`: found in the text, read and described."""
