"""Parts that the extension hooks into IPython and its kernel."""
