"""The places of tokens, where ids and text are given that do not belong together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bpetite import _engine
from bpetite._constants import SPACE

BASE = {byte: bytes([byte]) for byte in range(256)}
EMPTY = 300


def with_empty_token(pattern: str | tuple[str, ...] = r"\S+|\s+", **more: Any) -> _engine.Encoder:
    """An encoder with a token of no bytes, which only decoding knows."""
    lacks = b"" if "normalization" in more else b"z" if more else b""
    known = {byte: token for byte, token in BASE.items() if token != lacks}
    return _engine.Encoder(
        pattern=pattern,
        tokens=b"".join(known.values()),
        ends=np.arange(1, len(known) + 1, dtype=np.uint64).tobytes(),
        ids=np.array(list(known), dtype=np.uint32).tobytes(),
        merges=np.empty((0, 3), np.uint32).tobytes(),
        added_tokens=[("<s>", 301, ["special"])],
        decode_only=[(EMPTY, b"")],
        **more,
    )


KINDS = {
    "plain": with_empty_token(),
    "with spaces": with_empty_token((SPACE, r"\S+|\s+")),
    "composed": with_empty_token(normalization=[["NFC"]]),
    "a space before": with_empty_token(normalization=[["Prepend", " "]]),
    "unknown": with_empty_token(unknown=(400, False)),
    "unknown ones joined": with_empty_token(unknown=(400, True)),
    "unknown ones dropped": with_empty_token(drops_unknown=True),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["", "a", "az", "z", " aé", "<s>a", "zz<s>"])
@pytest.mark.parametrize("more", [{}, {"trim": "yes"}, {"trim": "keep first"}])
def test_a_token_without_bytes_has_no_place_in_any_text(
    kind: str, text: str, more: dict[str, Any]
) -> None:
    encoder = KINDS[kind]
    ids = encoder.encode(text)
    encoder.places(text, ids, **more)
    for place in range(len(ids) + 1):
        with pytest.raises(ValueError, match="these ids do not belong to this text"):
            encoder.places(text, [*ids[:place], EMPTY, *ids[place:]], **more)


@pytest.mark.parametrize(
    ("kind", "ids", "places"),
    [
        ("unknown", [400, 400, 97, 400], [(0, 1), (1, 2), (2, 3), (3, 4)]),
        ("unknown ones joined", [400, 97, 400], [(0, 2), (2, 3), (3, 4)]),
        ("unknown ones dropped", [97], [(2, 3)]),
    ],
)
def test_unknown_bytes_have_places(
    kind: str, ids: list[int], places: list[tuple[int, int]]
) -> None:
    assert KINDS[kind].encode("zzaz") == ids
    assert KINDS[kind].places("zzaz", ids) == places
    with pytest.raises(ValueError, match="these ids do not belong to this text"):
        KINDS[kind].places("bzzz", ids)


def test_a_token_for_a_whole_pretoken_has_its_place_though_a_byte_of_it_has_no_token() -> None:
    known = {byte: token for byte, token in BASE.items() if token != b"z"} | {300: b"az"}
    encoder = _engine.Encoder(
        pattern=r"\S+|\s+",
        tokens=b"".join(known.values()),
        ends=np.cumsum([*map(len, known.values())], dtype=np.uint64).tobytes(),
        ids=np.array(list(known), dtype=np.uint32).tobytes(),
        merges=np.empty((0, 3), np.uint32).tobytes(),
        whole_pretoken_first=True,
        drops_unknown=True,
    )
    assert encoder.places("az zb", encoder.encode("az zb")) == [(0, 2), (2, 3), (4, 5)]
