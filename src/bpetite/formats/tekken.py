"""Mistral's `tekken.json`: ranks, a pattern and special tokens in, a vocabulary out.

A token's id is its rank plus the number of special tokens, which come first. The file lists more
ranks than the vocabulary has; the surplus is unused.
"""

import binascii
import json
from collections.abc import Iterator, Mapping
from typing import Any

from bpetite._internal.json import Json, typed
from bpetite.encoding.template import Template
from bpetite.formats.shared.imported import Imported, parsed_unlike
from bpetite.formats.tiktoken import vocabulary_of_ranks
from bpetite.vocabulary import Arrays, Vocabulary

_MOST_SPECIALS = 100_000
_UNNAMED = (
    "<unk> <s> </s> [INST] [/INST] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [TOOL_RESULTS] [/TOOL_RESULTS] "
    "[TOOL_CALLS] [IMG] <pad> [IMG_BREAK] [IMG_END] [PREFIX] [MIDDLE] [SUFFIX] [SYSTEM_PROMPT] "
    "[/SYSTEM_PROMPT] [TOOL_CONTENT]"
)
"""The first special tokens of files that list none, with spaces between them."""

_FIRST = "<s>"
"""The token that begins a text."""

_ASSUMED = (
    "the file does not name its special tokens: they get the names of Mistral's v3, such as [INST]"
)


def parse_document(document: Json) -> Imported:
    """Read the object of a `tekken.json`; errors name the place in it."""
    config: Json = typed(document["config"], dict, "config")
    special_count = _number(config, "default_num_special_tokens", _MOST_SPECIALS)
    size = _number(config, "default_vocab_size", 2**31) - special_count
    pattern = typed(config.get("pattern"), str, "config.pattern")
    vocab: list[Any] = typed(document["vocab"], list, "vocab")
    if not 0 <= size <= len(vocab):
        raise ValueError(
            f"config asks for {size} tokens besides special ones, but vocab has {len(vocab)}"
        )
    ranks: dict[int, bytes] = {}
    for rank, entry in enumerate(vocab[:size]):
        ranks[rank + special_count] = _token(rank, entry)
    listed_specials = document.get("special_tokens")
    specials = _special_tokens(listed_specials, special_count)
    assumptions = [parsed_unlike("mistral_common")]
    if not listed_specials:
        assumptions.append(_ASSUMED)
    extras = list(_extras(document, len(vocab) - size))
    template = None
    if _FIRST in specials:  # mistral_common puts it before a prompt.
        template = Template(prefix=(specials[_FIRST],))
    vocabulary = vocabulary_of_ranks(Arrays.of(ranks), pattern, specials)
    return Imported(vocabulary, assumptions, extras, template=template)


def _extras(document: Json, unused: int) -> Iterator[str]:
    if unused:
        yield f"ranks beyond the size of the vocabulary: {unused}"
    if document.get("special_tokens"):
        yield "which special tokens are control tokens"
    for key in sorted(document.keys() - {"config", "vocab", "special_tokens"}):
        yield f"the settings called {key!r:.40}"


def _number(config: Json, key: str, most: int) -> int:
    value = config.get(key)
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"config.{key} must be a number from 0 to {most}, not {value!r:.80}")
    return value


def _token(rank: int, entry: Any) -> bytes:
    """Return the token of a rank."""
    listed_rank = entry.get("rank") if isinstance(entry, dict) else None
    if type(listed_rank) is not int or listed_rank != rank:
        raise ValueError(f"vocab[{rank}] must be an object with rank {rank}")
    spelled: Any = entry.get("token_bytes")
    try:
        token = binascii.a2b_base64(spelled)
    except (TypeError, ValueError):
        token = b""
    if not token or binascii.b2a_base64(token, newline=False).decode() != spelled:
        raise ValueError(f"vocab[{rank}].token_bytes: {spelled!r:.80} is not the base64 of a token")
    return token


def _special_tokens(listed: Any, count: int) -> dict[str, int]:
    """Return the ids of special tokens; those without a name in the file get the names of mistral_common."""
    if listed is None:
        names = dict(enumerate(_UNNAMED.split()[:count]))
    else:
        names = _listed_names(typed(listed, list, "special_tokens"), count)
    specials = {names.get(rank, f"<SPECIAL_{rank}>"): rank for rank in range(count)}
    if len(specials) < count:
        raise ValueError("special_tokens: a text appears twice")
    return specials


def _listed_names(listed: list[Any], count: int) -> dict[int, str]:
    """Return the special tokens of a file by their ranks."""
    names: dict[int, str] = {}
    for place, entry in enumerate(listed):
        fields = entry if isinstance(entry, dict) else {}
        rank: Any = fields.get("rank")
        text = fields.get("token_str")
        has_own_rank = type(rank) is int and 0 <= rank < count and rank not in names
        if not has_own_rank or not isinstance(text, str):
            raise ValueError(
                f"special_tokens[{place}] must have a rank of its own below {count}, and a text"
            )
        names[rank] = text
    return names


# Changing a file
# ---------------------------------------------------------------------------------------


def edited(content: bytes, vocabulary: Vocabulary, moved: Mapping[int, int]) -> bytes:
    """Return the file of a changed vocabulary; `editing.edited` explains `moved`.

    A token's rank is its id, so new tokens must be behind all others.
    """
    document = json.loads(content)
    config, entries = document["config"], document["vocab"]
    special_count = config["default_num_special_tokens"]
    kept = [old_id - special_count for old_id in sorted(moved) if old_id >= special_count]
    first_new = special_count + len(kept)
    if sorted(moved.values()) != list(range(first_new)):
        raise ValueError(
            "its ids are ranks: there can be no holes, and no new token before another; a "
            "tokenizer.json, as to_huggingface writes it, can hold it"
        )
    written = [{**entries[old], "rank": rank} for rank, old in enumerate(kept)]
    size = first_new
    while size in vocabulary.tokens:
        token = vocabulary.tokens[size]
        try:
            text = token.decode("utf-8")
        except UnicodeDecodeError:
            text = None
        spelled = binascii.b2a_base64(token, newline=False).decode()
        written.append({"rank": len(written), "token_bytes": spelled, "token_str": text})
        size += 1
    config["default_vocab_size"] = size
    document["vocab"] = written
    return json.dumps(document, ensure_ascii=False, indent=4).encode("utf-8")
