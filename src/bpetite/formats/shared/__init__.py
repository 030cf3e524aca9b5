"""Code that several formats share, and helpers for reading and checking single ones."""
