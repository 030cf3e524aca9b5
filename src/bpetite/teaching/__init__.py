"""Explains why a list of merges differs from those of a dialect: where it begins, and by which mistake."""
