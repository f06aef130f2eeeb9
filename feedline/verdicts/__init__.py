"""Measurements in, a verdict out. Unknown never passes."""
