"""Reads the map of characters of SentencePiece: which texts it replaces, and by what.

A `.model` holds it, and so does the normalizer `Precompiled` of a `tokenizer.json`. It consists of
the size of a trie in bytes, the trie (Darts: a double array of 32-bit units), and the new texts,
each ended by a zero byte. A unit holds the byte that leads to it, the distance to its children, and
whether a key ends there.
"""

from bpetite._internal.lazy import numpy as np

_LONGEST_KEY = 256
"""In bytes; the keys of SentencePiece's own maps have at most 18."""

_MOST_STEPS = 4_000_000
_MOST_STEPS_PER_UNIT = 16
"""The limits of nodes on the way to all keys: in all, and for each unit, as keys may share nodes.
SentencePiece's own maps have up to six nodes for each unit."""

_BROKEN = "its map of characters is broken"


def replaced_texts(compiled: bytes) -> dict[str, str]:
    """Return the new text for each text that a map replaces."""
    size = int.from_bytes(compiled[:4], "little")
    rest = compiled[4:]
    if size % 4 or not 4 <= size <= len(rest):
        raise ValueError(f"{_BROKEN}: the size of its trie is wrong")
    texts = rest[size:]
    replaced: dict[str, str] = {}
    for key, start in _keys(rest[:size]):
        end = texts.find(b"\0", start)
        if start >= len(texts) or end < 0:
            raise ValueError(f"{_BROKEN}: what replaces {key!r:.80} is cut off")
        try:
            replaced[key.decode("utf-8")] = texts[start:end].decode("utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"{_BROKEN}: {key!r:.80} or what replaces it is not UTF-8") from None
    return replaced


def _keys(trie: bytes) -> list[tuple[bytes, int]]:
    """Return the keys of a trie with their values."""
    units = np.frombuffer(trie, "<u4")
    places = np.arange(len(units))
    labels = units & 0x800000FF
    inner = np.nonzero(labels < 0x100)[0]
    shifts = (units & 0x200) >> 6
    distances = ((units >> 10).astype(np.int64) << shifts).tolist()
    ends = ((units >> 8) & 1).tolist()
    children: dict[int, list[tuple[int, int]]] = {}
    for place, label in zip(inner.tolist(), labels[inner].tolist(), strict=True):
        if label:
            children.setdefault(place ^ label, []).append((label, place))
    keys: list[tuple[bytes, int]] = []
    waiting = [(b"", 0)]
    for _ in range(min(_MOST_STEPS, _MOST_STEPS_PER_UNIT * len(units))):
        if not waiting:
            return keys
        key, place = waiting.pop()
        below = place ^ distances[place]
        if key and ends[place]:
            if below >= len(places) or units[below] < 0x80000000:
                raise ValueError(f"{_BROKEN}: key {key!r:.80} has no value")
            keys.append((key, int(units[below]) & 0x7FFFFFFF))
        for label, child in children.get(below, ()):
            waiting.append((key + bytes([label]), child))
        if len(key) > _LONGEST_KEY:
            break
    raise ValueError(f"{_BROKEN}, or too large")
