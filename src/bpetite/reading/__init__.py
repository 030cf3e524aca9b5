"""Inputs in, documents out: the meaning of a path, wherever one is given."""
