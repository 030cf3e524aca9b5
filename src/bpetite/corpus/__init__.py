"""Encoding whole corpora into shards of ids: in bounded memory, resumable, on one machine or a cluster."""

from bpetite.corpus.columns import EncodedColumn, encode_column
from bpetite.corpus.job import Documents, Options
from bpetite.corpus.run import encode
from bpetite.corpus.statistics import TokenCount, compare, count_tokens, stats
from bpetite.corpus.verification import verify
from bpetite.reading.batches import is_held_out
from bpetite.reading.options import Reading

__all__ = [
    "Documents",
    "EncodedColumn",
    "Options",
    "Reading",
    "TokenCount",
    "compare",
    "count_tokens",
    "encode",
    "encode_column",
    "is_held_out",
    "stats",
    "verify",
]
