"""bpetite: byte-level BPE tokenizers, trained exactly, fast to use, readable in plain Python.

>>> from bpetite import Tokenizer
>>> tok = Tokenizer.train("ab ab ab", vocab_size=258)
>>> tok.encode("ab ab")
[256, 257]
"""

from bpetite._constants import END_OF_TEXT_TOKEN
from bpetite.counts import Counts
from bpetite.dialect import Dialect
from bpetite.interfaces.huggingface import accelerate
from bpetite.show.compare import Comparison, compare
from bpetite.show.difference import Difference, explain_difference
from bpetite.tokenizer import Tokenizer, trim_memory
from bpetite.vocabulary import Vocabulary

__all__ = [
    "END_OF_TEXT_TOKEN",
    "Comparison",
    "Counts",
    "Dialect",
    "Difference",
    "Tokenizer",
    "Vocabulary",
    "accelerate",
    "compare",
    "explain_difference",
    "trim_memory",
]
