"""Parts of the process runner: watching, capturing and finding what a child left behind."""
