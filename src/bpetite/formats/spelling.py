"""A vocabulary in, the texts by which Hugging Face's libraries call its tokens out."""

import json

from bpetite.formats.shared.imported import Original
from bpetite.formats.shared.pairs import BYTE_NAMES
from bpetite.formats.shared.printable import to_printable
from bpetite.normalization import steps_in
from bpetite.vocabulary import MARK, WORD_END, WORD_START, Vocabulary

_NAME_OF = {byte: name for name, byte in BYTE_NAMES.items()}


def spelled_ids(vocabulary: Vocabulary, original: Original | None = None) -> dict[str, int]:
    """Return the id of each token by its spelling: as the `tokenizer.json` says it that was read, if any.

    Tokens of characters are spelled as SentencePiece's `id_to_piece` does: a space is U+2581, and a
    token of a byte has a name, such as `<0x0A>`; a GGUF has plain spaces in those that users
    defined. Of several tokens of the same bytes, which only our own dialect makes, it has the
    first.

    >>> ones = {byte: bytes([byte]) for byte in range(256)}
    >>> spelled_ids(Vocabulary(ones, [], {"<s>": 256}))["\u0120"]
    32
    """
    if original is not None and original.kind == "huggingface":
        document = json.loads(original.content)
        added = {token["content"]: token["id"] for token in document.get("added_tokens") or ()}
        return {**document["model"]["vocab"], **added}
    if vocabulary.word_end is not None:
        return _spelled_words(vocabulary)
    if vocabulary.word_start is not None:
        return _spelled_beginnings(vocabulary, vocabulary.word_start)
    if vocabulary.provisional:
        is_gguf = original is not None and original.kind == "gguf"
        return _spelled_pieces(vocabulary, spaces_in_defined=is_gguf)
    ids: dict[str, int] = {}
    for token_id, token in vocabulary.tokens.items():
        ids.setdefault(to_printable(token), token_id)
    for token_id, token in vocabulary.decode_only.items():
        ids.setdefault(token.decode("utf-8", "replace"), token_id)
    return {**ids, **vocabulary.special_tokens}


def _spelled_words(vocabulary: Vocabulary) -> dict[str, int]:
    """Return the ids where tokens end words: their names end in a suffix, mostly `</w>`."""
    suffix = (vocabulary.word_end or "").strip() or "</w>"
    of_bytes = any(
        byte >= 0x80 and byte != WORD_END[0] and token_id not in vocabulary.provisional
        for byte, token_id in vocabulary.id_of_byte.items()
    )
    ids = {}
    for token_id, token in {**vocabulary.tokens, **vocabulary.decode_only}.items():
        if token_id in vocabulary.provisional:
            continue
        is_read = token_id in vocabulary.tokens
        word = token.removesuffix(WORD_END) if is_read else token
        name = to_printable(word) if of_bytes else word.decode("utf-8", "replace")
        ids[name + suffix if word != token else name] = token_id
    return {**ids, **vocabulary.special_tokens}


def _spelled_beginnings(vocabulary: Vocabulary, prefix: str) -> dict[str, int]:
    """Return the ids where tokens begin words: the names of others begin with a prefix, mostly `##`."""
    ids = {token.decode("utf-8"): token_id for token_id, token in vocabulary.decode_only.items()}
    for token_id, token in vocabulary.tokens.items():
        if token_id not in vocabulary.provisional:
            word = token.removeprefix(WORD_START)
            ids[("" if word != token else prefix) + word.decode("utf-8")] = token_id
    return {**ids, **vocabulary.special_tokens}


def _spelled_pieces(vocabulary: Vocabulary, *, spaces_in_defined: bool) -> dict[str, int]:
    """Return the id of each token of characters by its spelling."""
    space = MARK if ("Replace", MARK, " ") in steps_in(vocabulary.normalization) else " "
    # A byte that is also a character has a token of that name, too, which no text becomes.
    spare = {
        token: token_id for token_id, token in vocabulary.decode_only.items() if len(token) == 1
    }
    lasting = [
        (own, token)
        for own, token in vocabulary.tokens.items()
        if own not in vocabulary.provisional
    ]
    falls_back = any(len(token) == 1 and token >= b"\x80" for _, token in lasting)
    ids: dict[str, int] = {}
    for token_id, token in lasting:
        if len(token) == 1 and falls_back and token not in spare:
            ids[_NAME_OF[token[0]]] = token_id
        else:
            ids[token.decode("utf-8").replace(" ", space)] = token_id
    for token_id, token in vocabulary.decode_only.items():
        is_byte = spare.get(token) == token_id
        ids[_NAME_OF[token[0]] if is_byte else token.decode("utf-8")] = token_id
    for text, token_id in vocabulary.special_tokens.items():
        is_piece = "normalized" in vocabulary.token_flags.get(text, ()) and not spaces_in_defined
        ids[text.replace(" ", space) if is_piece else text] = token_id
    return ids
