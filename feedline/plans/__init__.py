"""Facts in, an ordered list of steps out - or the reason why nothing is needed."""
