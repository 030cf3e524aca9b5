"""bpetite: byte-level BPE tokenizers, trained exactly, fast to use, readable in plain Python.

>>> from bpetite import Tokenizer
>>> tok = Tokenizer.train("ab ab ab", vocab_size=258)
>>> tok.encode("ab ab")
[256, 257]
"""

TYPE_CHECKING = (
    False  # The command imports this first, and answers Ctrl-C only then: it needs no other module.
)
if TYPE_CHECKING:
    from bpetite._constants import END_OF_TEXT_TOKEN as END_OF_TEXT_TOKEN
    from bpetite.counts import Counts as Counts
    from bpetite.dialect import Dialect as Dialect
    from bpetite.interfaces.huggingface import accelerate as accelerate
    from bpetite.show.compare import Comparison as Comparison
    from bpetite.show.compare import compare as compare
    from bpetite.surgery.shared_tokens import shared as shared
    from bpetite.surgery.token_map import TokenMap as TokenMap
    from bpetite.teaching.difference import Difference as Difference
    from bpetite.teaching.difference import explain_difference as explain_difference
    from bpetite.tokenizer import TextColumn as TextColumn
    from bpetite.tokenizer import Tokenizer as Tokenizer
    from bpetite.tokenizer import trim_memory as trim_memory
    from bpetite.training import Superwords as Superwords
    from bpetite.vocabulary import Vocabulary as Vocabulary

_MODULES = {
    "END_OF_TEXT_TOKEN": "bpetite._constants",
    "Comparison": "bpetite.show.compare",
    "Counts": "bpetite.counts",
    "Dialect": "bpetite.dialect",
    "Difference": "bpetite.teaching.difference",
    "Superwords": "bpetite.training",
    "TextColumn": "bpetite.tokenizer",
    "TokenMap": "bpetite.surgery.token_map",
    "Tokenizer": "bpetite.tokenizer",
    "Vocabulary": "bpetite.vocabulary",
    "accelerate": "bpetite.interfaces.huggingface",
    "compare": "bpetite.show.compare",
    "explain_difference": "bpetite.teaching.difference",
    "shared": "bpetite.surgery.shared_tokens",
    "trim_memory": "bpetite.tokenizer",
}
"""The module of each public name; it is imported when the name is first used."""

__all__ = [*_MODULES]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
