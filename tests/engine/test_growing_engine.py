"""The engine's growing texts, for every kind of vocabulary and pattern; copies of all that has a state."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import _engine
from bpetite._constants import BYTES, SPACE
from bpetite.patterns import PATTERNS

TOKENS = [b"ab", b"bb", b"abab", b"aa", b"aaaa", "\u65e5".encode()[:2], b"  ", b"zz"]
MERGES = [
    (97, 98, 300),
    (98, 98, 301),
    (300, 300, 302),
    (97, 97, 303),
    (303, 303, 304),
    (0xE6, 0x97, 305),
]
MERGES += [(32, 32, 306), (122, 122, 307)]


SPECIAL = [(text, 290 + n, ["special"]) for n, text in enumerate(["<s>", "<s><s>x", "    "])]


def encoder(
    pattern: str, *, lacks: bytes = b"", provisional: int = 0, **more: Any
) -> _engine.Encoder:
    """An encoder of a few merges; its last tokens may be `provisional`, and it may lack some bytes."""
    known = {byte: bytes([byte]) for byte in range(256) if byte not in lacks}
    tokens = known | dict(enumerate(TOKENS[: -1 if b"z" in lacks else None], 300))
    if "whole_pretoken_first" in more:
        tokens |= {200_000: b"abb", 200_001: b"a"[:1] * 9}
    return _engine.Encoder(
        pattern=pattern,
        tokens=b"".join(tokens.values()),
        ends=np.cumsum([len(token) for token in tokens.values()], dtype=np.uint64).tobytes(),
        ids=np.array(list(tokens), dtype=np.uint32).tobytes(),
        merges=np.array([row for row in MERGES if row[2] in tokens], dtype=np.uint32).tobytes(),
        provisional=[307, 306, 305][:provisional],
        **{"added_tokens": SPECIAL, **more},
    )


GAPS = [
    r"a+b",
    r"(?:ab)+",
    r"a|a+b",
    r"\s*[\r\n]+|\s+(?!\S)|\s+",
    r"ab$|b",
    r"[ab]{2,3}",
    r"a*?b|z",
]
STEPS = [("a+", "aa"), (SPACE, r" ?\S+"), (BYTES, "[a-z]+"), r"(?<=a)\w\w|\w"]
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "tokens for whole pretokens": {"whole_pretoken_first": True},
    "provisional tokens": {"provisional": 3},
    "unknown bytes": {"lacks": b"zq\xa5", "unknown": (400, False)},
    "unknown bytes joined": {"lacks": b"zq\xa5", "unknown": (400, True)},
    "unknown characters": {"provisional": 3, "unknown": (280, False)},
    "unknown characters joined": {"lacks": b"q\xa5", "provisional": 3, "unknown": (280, True)},
    "unknown bytes dropped": {"lacks": b"zq\xa5", "drops_unknown": True},
    "bytes that are refused": {"lacks": b"q"},
    "composed": {"normalization": [["NFC"]]},
    "small letters behind a space": {"normalization": [["Lowercase"], ["Prepend first", " "]]},
    "a space before each": {"normalization": [["Prepend", " "], ["Replace", "\u2581", " "]]},
    "a space before the first": {"normalization": [["Space first"]]},
    "replaced": {"normalization": [["Replace", "ab", "z"], ["Replace", "a+", "b"]]},
    "flags": {
        "added_tokens": [
            ("<s>", 290, ["lstrip"]),
            ("<s", 291, ["rstrip", "special"]),
            (" ", 292, []),
        ]
    },
    "words": {
        "added_tokens": [("ab", 290, ["single_word", "normalized"]), ("z", 291, ["special"])]
    },
}
ENCODERS = {
    f"{kind}, {pattern}": encoder(pattern, **more)
    for kind, more in KINDS.items()
    for pattern in [
        PATTERNS["cl100k"],
        PATTERNS["none"],
        *(GAPS + STEPS if kind == "plain" else ["a+b"]),
    ]
}

texts = st.lists(
    st.sampled_from(
        [
            *"abzqA\n\u0301 ",
            "ab",
            "aaaaaaaaa",
            "abab" * 20,
            " " * 9,
            "\u65e5\u65a5",
            "<s>",
            "<s",
            "a" * 80,
        ]
    ),
    max_size=5,
).map("".join)


@pytest.mark.parametrize("special", ["parse", "text", "error"])
@pytest.mark.parametrize("name", ENCODERS)
@given(steps=st.lists(st.one_of(texts, st.integers(0, 300)), max_size=8))
def test_ids_are_those_of_the_whole_text(name: str, special: Any, steps: list[Any]) -> None:
    growing, text = ENCODERS[name].growing(special), ""
    for step in steps:
        before = growing.ids
        changed = text[:step] if isinstance(step, int) else text + step
        try:
            unchanged = growing.truncate(step) if isinstance(step, int) else growing.append(step)
        except ValueError:
            with pytest.raises(ValueError):
                ENCODERS[name].encode(changed, special)
        else:
            text = changed
            assert growing.ids[:unchanged] == before[:unchanged]
        assert growing.text == text
        assert growing.ids == ENCODERS[name].encode(text, special)


@pytest.mark.parametrize("name", ENCODERS)
@given(first=texts, second=texts, third=texts)
def test_copies_of_streams_and_growing_texts_go_on_by_themselves(
    name: str, first: str, second: str, third: str
) -> None:
    encoder = ENCODERS[name]
    if "refused" in name:
        first, second, third = (text.replace("q", "") for text in (first, second, third))
    for copied in (copy.copy, copy.deepcopy, _engine.GrowingEncoding.copy):
        growing = encoder.growing()
        growing.append(first)
        other = copied(growing)
        other.append(second)
        growing.append(third)
        assert (growing.text, other.text) == (first + third, first + second)
        assert growing.ids == encoder.encode(first + third)
        assert other.ids == encoder.encode(first + second)


@pytest.mark.parametrize("errors", ["strict", "replace"])
def test_copies_of_streams_of_ids_go_on_by_themselves(errors: str) -> None:
    stream = ENCODERS[f"plain, {PATTERNS['none']}"].decode_stream(errors)
    stream.push([0xE6, 0x97])
    for copied in (copy.copy, copy.deepcopy):
        assert copied(stream).push(0xA5) == "\u65e5"
        if errors == "replace":
            assert copied(stream).finish() == "\ufffd"
    assert stream.push(0xA6) == "\u65e6"


def test_what_has_a_state_is_not_pickled() -> None:
    encoder = ENCODERS[f"plain, {PATTERNS['none']}"]
    for stateful in (
        encoder.growing(),
        encoder.encode_stream(),
        encoder.decode_stream(),
        encoder.decode_streams(),
    ):
        with pytest.raises(TypeError, match="cannot pickle"):
            pickle.dumps(stateful)
