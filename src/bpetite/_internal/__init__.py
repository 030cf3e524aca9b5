"""Plumbing that nobody imports from outside: files, JSON, columns, arguments, progress."""
