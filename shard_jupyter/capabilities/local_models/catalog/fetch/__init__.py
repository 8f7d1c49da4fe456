"""Getting one file over the network, whole and checked, whatever happens on the way."""
