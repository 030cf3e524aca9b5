"""A vocabulary in, the texts by which Hugging Face's libraries call its tokens out."""

import json

from bpetite.formats.shared.imported import Original
from bpetite.formats.shared.printable import to_printable
from bpetite.vocabulary import Vocabulary


def spelled_ids(vocabulary: Vocabulary, original: Original | None = None) -> dict[str, int]:
    """Return the id of each token by its spelling: as the `tokenizer.json` says it that was read, if any.

    Of several tokens of the same bytes, which only our own dialect makes, it has the first.

    >>> ones = {byte: bytes([byte]) for byte in range(256)}
    >>> spelled_ids(Vocabulary(ones, [], {"<s>": 256}))["\u0120"]
    32
    """
    if original is not None:
        document = json.loads(original.content)
        added = {token["content"]: token["id"] for token in document.get("added_tokens") or ()}
        return {**document["model"]["vocab"], **added}
    if vocabulary.provisional:
        raise ValueError(
            "how tokens of characters are spelled is only known of a tokenizer.json; vocabulary.tokens has "
            "their bytes"
        )
    ids: dict[str, int] = {}
    for token_id, token in (*vocabulary.tokens.items(), *vocabulary.decode_only.items()):
        ids.setdefault(to_printable(token), token_id)
    return {**ids, **vocabulary.special_tokens}
