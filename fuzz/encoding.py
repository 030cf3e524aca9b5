"""Encoding and decoding by the engine against the specification, tiktoken, and other calls of the engine."""

from __future__ import annotations

import codecs
import unicodedata
from functools import cache, lru_cache
from random import Random
from typing import Literal

import numpy as np
import regex
import tiktoken

from bpetite import Tokenizer, Vocabulary, _encoder
from bpetite._pretokenizer import pretokenize, split_at_specials
from fuzz import texts, vocabularies

Special = Literal["parse", "text"]


def tokenizer(rng: Random) -> Tokenizer:
    """Return a tokenizer; many cases share one, so that its cache is tested, too."""
    return _tokenizer(rng.randrange(2**20) // 2**14 if rng.random() < 0.7 else rng.randrange(2**30))


@lru_cache(maxsize=128)
def _tokenizer(number: int) -> Tokenizer:
    rng = Random(f"tokenizer {number}")
    while True:
        try:
            return Tokenizer(vocabularies.vocabulary(rng))
        except ValueError as refused:
            if "pattern" not in str(refused):
                raise


def ids_are_as_specified(rng: Random) -> None:
    """One text: ids, arrays, counts, offsets, batches and threads."""
    tok, text = tokenizer(rng), texts.text(rng)
    vocabulary = tok.vocabulary
    ids = tok.encode(text)
    assert ids == _specified(vocabulary, text), (vocabulary, text, ids)
    assert tok.decode(ids) == text
    assert tok.count(text) == len(ids)
    batch = [*texts.cut(rng, text), text]
    rows = tok.encode_batch(batch, num_threads=rng.randint(1, 3))
    assert rows[-1] == ids
    assert rows == [tok.encode(part) for part in batch]
    flat, offsets = tok.encode_batch_to_numpy(batch, num_threads=rng.randint(1, 3))
    assert flat.tolist() == [token_id for row in rows for token_id in row]
    assert offsets.tolist() == [0, *np.cumsum([len(row) for row in rows]).tolist()]
    with_offsets, spans = tok.encode_with_offsets(text, unit="bytes")
    assert with_offsets == ids
    assert [text.encode()[start:end] for start, end in spans] == [
        tok.token_bytes(token_id) for token_id in ids
    ]


def _specified(vocabulary: Vocabulary, text: str) -> list[int]:
    """Encode by the specification, which has no option to take whole pretokens first."""
    vocab = dict(vocabulary.tokens) | {
        token_id: text.encode() for text, token_id in vocabulary.special_tokens.items()
    }
    if not vocabulary.whole_pretoken_first:
        return _encoder.encode(
            text, vocab, vocabulary.merges, vocabulary.special_tokens, vocabulary.pattern
        )
    ids: list[int] = []
    for segment, is_special in split_at_specials(text, list(vocabulary.special_tokens)):
        if is_special:
            ids.append(vocabulary.special_tokens[segment])
            continue
        for pretoken in pretokenize(segment, vocabulary.pattern):
            whole = vocabulary.id_of.get(pretoken)
            merged = _encoder.encode(pretoken.decode(), vocab, vocabulary.merges, {}, "(?s:.+)")
            ids += merged if whole is None else [whole]
    return ids


def ids_are_tiktokens(rng: Random) -> None:
    """Vocabularies whose ranks are ids, as tiktoken's are."""
    tok, theirs = _pair(rng.randrange(40))
    text = "".join(filter(_known, texts.text(rng, 3000)))
    assert tok.encode(text) == theirs.encode(text, allowed_special="all"), (tok, text)
    assert tok.encode_ordinary(text) == theirs.encode_ordinary(text), (tok, text)


@cache
def _known(character: str) -> bool:
    """Whether a character has the same class in old and new tables, Python's and those of `regex`."""
    category = unicodedata.category(character)
    return category != "Cn" and regex.match(rf"\p{{{category}}}", character) is not None


@lru_cache(maxsize=64)
def _pair(number: int) -> tuple[Tokenizer, tiktoken.Encoding]:
    rng = Random(f"pair {number}")
    corpus = "".join(texts.text(rng, 2000) for _ in range(20))
    tok = Tokenizer.train_from_iterator(
        [corpus],
        300 + rng.randrange(1500),
        dialect="tiktoken",
        pattern=rng.choice(("gpt2", "cl100k", "o200k")),
        special_tokens=rng.sample(texts.SPECIALS, 1),
    )
    ranks = {token: token_id for token_id, token in tok.vocabulary.tokens.items()}
    return tok, tiktoken.Encoding(
        "ours",
        pat_str=str(tok.pattern),
        mergeable_ranks=ranks,
        special_tokens=dict(tok.special_tokens),
    )


def streams_are_the_whole(rng: Random) -> None:
    """A text in pieces, and its ids in pieces."""
    tok, text = tokenizer(rng), texts.text(rng, 1500)
    special: Special = rng.choice(("parse", "text"))
    ids = tok.encode(text, special=special)
    pieces = texts.cut(rng, text) if rng.random() < 0.7 else list(text)
    assert list(tok.encode_iterable(pieces, special=special)) == ids, (tok.vocabulary, pieces)
    stream = tok.decode_stream()
    shown = "".join(stream.push(token_id) for token_id in ids) + stream.finish()
    assert shown == text, (tok.vocabulary, ids)
    streams = tok.decode_streams()
    slots = [streams.open() for _ in range(3)]
    order = rng.choices(slots, k=len(ids))
    written = dict.fromkeys(slots, "")
    for slot, piece in zip(order, streams.step(order, ids), strict=True):
        written[slot] += piece
    for slot in slots:
        own = [token_id for place, token_id in zip(order, ids, strict=True) if place == slot]
        expected = tok.decode(own, errors="replace")
        assert written[slot] + streams.finish(slot) == expected, (tok.vocabulary, own)


def any_ids_decode_as_their_bytes(rng: Random) -> None:
    """Random ids, mostly not text: with every error handler, in one call and one by one."""
    tok = tokenizer(rng)
    known = [*tok.vocabulary.tokens, *tok.special_tokens.values()]
    ids = rng.choices(known, k=rng.randint(0, 60))
    raw = b"".join(map(tok.token_bytes, ids))
    assert tok.decode_bytes(ids) == tok.decode_bytes(np.array(ids, np.uint32)) == raw
    for errors in ("replace", "ignore", "backslashreplace", "surrogateescape"):
        assert tok.decode(ids, errors=errors) == raw.decode(errors=errors), (ids, raw, errors)
        stream, reference = (
            tok.decode_stream(errors=errors),
            codecs.getincrementaldecoder("utf-8")(errors),
        )
        shown = [stream.push(token_id) for token_id in ids]
        assert shown == [reference.decode(tok.token_bytes(token_id)) for token_id in ids], (
            ids,
            errors,
        )
        assert stream.finish() == reference.decode(b"", final=True), (ids, errors)
    _check_strict(tok, ids, raw)
    unknown = rng.choice((-1, 2**32 - 1, 2**64, max(known) + 1))
    try:
        tok.decode([*ids, unknown])
    except KeyError as refused:
        assert str(unknown) in str(refused)
    else:
        raise AssertionError(f"unknown id {unknown} was decoded")


def _check_strict(tok: Tokenizer, ids: list[int], raw: bytes) -> None:
    try:
        expected = raw.decode()
    except UnicodeDecodeError as theirs:
        try:
            tok.decode(ids)
        except UnicodeDecodeError as ours:
            assert ours.args == theirs.args, (ids, raw)
        else:
            raise AssertionError(f"{raw!r} was decoded") from None
    else:
        assert tok.decode(ids) == expected
