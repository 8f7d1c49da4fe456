"""History as the model sees it: the active branch and the message window. Pure."""
