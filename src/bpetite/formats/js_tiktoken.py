"""JS-tiktoken's JSON: a pattern, special tokens, and lines of tokens by rank, in; a vocabulary out.

Each line of `bpe_ranks` is `!`, the rank of its first token, and tokens in base64, all apart by spaces.
"""

from __future__ import annotations

from bpetite._internal.json import Json, refuse, type_name
from bpetite._internal.types import Path
from bpetite.formats.shared.imported import UNICODE_ASSUMPTION, Imported, assumed_pattern
from bpetite.formats.tiktoken import from_base64, vocabulary_of_ranks
from bpetite.vocabulary import LARGEST_ID, Arrays


def parse_document(path: Path, document: Json) -> Imported:
    """Read the object of such a file; errors name `path` and the place in it."""
    pattern, ranks, specials = (document.get(key) for key in ("pat_str", "bpe_ranks", "special_tokens"))
    if not isinstance(pattern, str) or not isinstance(ranks, str):
        refuse(path, "pat_str and bpe_ranks must be strings")
    if not isinstance(specials, dict) or not set(map(type, specials.values())) <= {int}:
        refuse(path, f"special_tokens must be an object of ids, not {type_name(specials)}")
    tokens: dict[int, bytes] = {}
    for number, line in enumerate(ranks.split("\n")):
        if line:
            _add_line(path, tokens, number, line)
    vocabulary = vocabulary_of_ranks(path, Arrays.of(dict(sorted(tokens.items()))), pattern, specials)
    return Imported(vocabulary, [assumed_pattern(pattern, "from the file"), UNICODE_ASSUMPTION])


def _add_line(path: Path, tokens: dict[int, bytes], number: int, line: str) -> None:
    place = f"bpe_ranks, line {number + 1}"
    mark, _, rest = line.partition(" ")
    first, *spelled = rest.split(" ")
    if mark != "!" or not (first.isascii() and first.isdecimal() and len(first) <= 10):
        refuse(path, f"{place}: {line!r:.80} does not begin with ! and a rank")
    for rank, one in enumerate(spelled, int(first)):
        token = from_base64(one)
        if not token:
            refuse(path, f"{place}: {one!r:.80} is not the base64 of a token")
        if rank in tokens or rank > LARGEST_ID:
            refuse(path, f"{place}: rank {rank} appears twice or is more than {LARGEST_ID}")
        tokens[rank] = token
