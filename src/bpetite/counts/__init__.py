"""Counts of pretokens: the class `Counts`, how inputs are counted, and the file that keeps counts."""

from bpetite.counts.counts import Counts, default_specials, memory_bytes

__all__ = ["Counts", "default_specials", "memory_bytes"]
