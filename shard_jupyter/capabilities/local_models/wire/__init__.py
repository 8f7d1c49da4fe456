"""How a local server is asked to go on with a text, over HTTP on the loopback interface."""
