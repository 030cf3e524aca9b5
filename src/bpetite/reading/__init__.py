"""Inputs in, documents out: what a path of texts means, wherever one is given."""
