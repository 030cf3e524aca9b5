"""JS-tiktoken's JSON: a pattern, special tokens, and lines of tokens by rank, in; a vocabulary out.

Each line of `bpe_ranks` is `!`, the rank of its first token, and tokens in base64, all apart by spaces.
"""

from __future__ import annotations

from bpetite._internal.json import Json, refuse, type_name
from bpetite._internal.types import Path
from bpetite.formats.shared.imported import Imported, assumed_pattern
from bpetite.formats.tiktoken import arrays_of_lines, vocabulary_of_ranks


def parse_document(path: Path, document: Json) -> Imported:
    """Read the object of such a file; errors name `path` and the place in it."""
    pattern, ranks, specials = (document.get(key) for key in ("pat_str", "bpe_ranks", "special_tokens"))
    if not isinstance(pattern, str) or not isinstance(ranks, str):
        refuse(path, "pat_str and bpe_ranks must be strings")
    if not isinstance(specials, dict) or not set(map(type, specials.values())) <= {int}:
        refuse(path, f"special_tokens must be an object of ids, not {type_name(specials)}")
    lines: list[str] = []
    numbers: list[int] = []
    for number, line in enumerate(ranks.split("\n"), 1):
        mark, _, rest = (line or "! 0").partition(" ")
        first, *spelled = rest.split(" ")
        if mark != "!" or not (first.isascii() and first.isdecimal() and len(first) <= 10):
            refuse(path, f"bpe_ranks, line {number}: {line!r:.80} does not begin with ! and a rank")
        lines += [f"{token} {rank}" for rank, token in enumerate(spelled, int(first))]
        numbers += [number] * len(spelled)
    tokens = arrays_of_lines(path, lines, lambda place: f"bpe_ranks, line {numbers[place]}")
    vocabulary = vocabulary_of_ranks(path, tokens, pattern, specials)
    return Imported(vocabulary, [assumed_pattern(pattern, "from the file")])
