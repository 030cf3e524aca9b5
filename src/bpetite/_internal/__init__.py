"""Plumbing that nobody imports from outside: files, JSON, hashes, the file of counts, normalization."""
