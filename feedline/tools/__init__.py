"""Tools of the field: the argv we give them and the output they answer with."""
