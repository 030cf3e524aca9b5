"""Mistral's `tekken.json`: ranks, a pattern and special tokens in, a vocabulary out.

A token's id is its rank plus the number of special tokens, which come first. The file lists more ranks than
the vocabulary has; the surplus is unused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bpetite._internal.json import Json, refuse, type_name
from bpetite._internal.types import Path
from bpetite.formats.shared.imported import Imported, assumed_pattern
from bpetite.formats.tiktoken import arrays_of_lines, vocabulary_of_ranks

_MOST_SPECIALS = 100_000
_UNNAMED = (
    *("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
    *("[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]"),
    *("[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]"),
)
"""The first special tokens of files that list none."""


def parse_document(path: Path, document: Json) -> Imported:
    """Read the object of a `tekken.json`; errors name `path` and the place in it."""
    config = document["config"]
    if not isinstance(config, dict):
        refuse(path, f"config must be an object, not {type_name(config)}")
    special_count = _number(path, config, "default_num_special_tokens", _MOST_SPECIALS)
    size = _number(path, config, "default_vocab_size", 2**31) - special_count
    pattern = config.get("pattern")
    if not isinstance(pattern, str):
        refuse(path, f"config.pattern must be a string, not {type_name(pattern)}")
    vocab = document["vocab"]
    if not isinstance(vocab, list):
        refuse(path, f"vocab must be a list, not {type_name(vocab)}")
    if not 0 <= size <= len(vocab):
        refuse(path, f"config asks for {size} tokens besides special ones, but vocab has {len(vocab)}")
    lines = [_line(path, rank, entry, special_count) for rank, entry in enumerate(vocab[:size])]
    ranks = arrays_of_lines(path, lines, "vocab[{}].token_bytes".format)
    specials = _special_tokens(path, document.get("special_tokens"), special_count)
    vocabulary = vocabulary_of_ranks(path, ranks, pattern, specials)
    return Imported(
        vocabulary,
        [
            assumed_pattern(pattern, "from the file"),
            "special tokens in a text are found unless they are to be text; mistral_common finds none",
            *([] if document.get("special_tokens") else ["special tokens have the names of Mistral's v3"]),
        ],
        [*_extras(document, len(vocab) - size)],
    )


def _extras(document: Json, unused: int) -> Iterator[str]:
    if unused:
        yield f"ranks beyond the size of the vocabulary: {unused}"
    if document.get("special_tokens"):
        yield "which special tokens are control tokens"
    for key in sorted(document.keys() - {"config", "vocab", "special_tokens"}):
        yield f"the settings called {key!r:.40}"


def _number(path: Path, config: Json, key: str, most: int) -> int:
    value = config.get(key)
    if type(value) is not int or not 0 <= value <= most:
        refuse(path, f"config.{key} must be a number from 0 to {most}, not {value!r:.80}")
    return value


def _line(path: Path, rank: int, entry: Any, special_count: int) -> str:
    """Return the token of a rank and its id, as a line of a file of ranks."""
    if not isinstance(entry, dict) or type(entry.get("rank")) is not int or entry["rank"] != rank:
        refuse(path, f"vocab[{rank}] must be an object with rank {rank}")
    if not isinstance(spelled := entry.get("token_bytes"), str):
        refuse(path, f"vocab[{rank}].token_bytes: {spelled!r:.80} is not the base64 of a token")
    return f"{spelled} {rank + special_count}"


def _special_tokens(path: Path, listed: Any, count: int) -> dict[str, int]:
    """Return the ids of special tokens; those without a name in the file get the names of mistral_common."""
    names: dict[int, str] = {}
    if listed is None:
        names = dict(enumerate(_UNNAMED[:count]))
    elif not isinstance(listed, list):
        refuse(path, f"special_tokens must be a list, not {type_name(listed)}")
    else:
        for place, value in enumerate(listed):
            rank, text = (value.get("rank"), value.get("token_str")) if isinstance(value, dict) else (0, 0)
            if type(rank) is not int or not 0 <= rank < count or rank in names or not isinstance(text, str):
                refuse(path, f"special_tokens[{place}] must have a rank of its own below {count}, and a text")
            names[rank] = text
    specials = {names.get(rank, f"<SPECIAL_{rank}>"): rank for rank in range(count)}
    if len(specials) < count:
        refuse(path, "special_tokens: a text appears twice")
    return specials
