"""The commands, one file each; `cli/__init__.py` says what is in it."""
