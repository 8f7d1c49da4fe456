"""What every surface says to a person and asks of one, whatever it is drawn with."""
