"""Whole corpora: any input, bounded memory, resumable, on one machine or a cluster."""

from bpetite.corpus.counting import count
from bpetite.corpus.documents import Reading
from bpetite.corpus.encoding import Documents, Options, encode
from bpetite.corpus.statistics import compare, stats
from bpetite.corpus.verification import verify

__all__ = ["Documents", "Options", "Reading", "compare", "count", "encode", "stats", "verify"]
