"""GPT-2's two files, `vocab.json` and `merges.txt`: tokens and pairs in, tokens and pairs out.

Both files spell bytes by printable stand-ins: `!` to `~`, `¡` to `¬` and `®` to `ÿ` stand for themselves, the
other 68 bytes for `Ā` (U+0100) and what follows.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping

from bpetite._files import write_whole
from bpetite.dialect import Dialect

Path = str | os.PathLike[str]
BytesPair = tuple[bytes, bytes]

_IN_ORDER = Dialect(base_ids="gpt2_printable").base_bytes()
_STAND_IN = {
    byte: chr(byte) if place < 188 else chr(256 + place - 188) for place, byte in enumerate(_IN_ORDER)
}
_BYTE = {stand_in: byte for byte, stand_in in _STAND_IN.items()}


def to_printable(token: bytes) -> str:
    """Spell bytes by their stand-ins.

    >>> to_printable(b" the")
    'Ġthe'
    """
    return "".join([_STAND_IN[byte] for byte in token])


def from_printable(spelled: str) -> bytes:
    """Return the bytes that stand-ins spell; a character that is none is a `KeyError`.

    >>> from_printable("Ġthe")
    b' the'
    """
    return bytes([_BYTE[character] for character in spelled])


def write_tokens_and_merges(
    vocab: Mapping[int, bytes],
    merges: Iterable[BytesPair],
    vocab_path: Path,
    merges_path: Path,
    *,
    overwrite: bool = False,
) -> None:
    """Write `vocab.json` and `merges.txt`; special tokens are spelled by stand-ins as all tokens are."""
    ids = {to_printable(token): token_id for token_id, token in sorted(vocab.items())}
    if len(ids) != len(vocab):
        raise ValueError("vocab.json cannot hold two tokens of the same bytes")
    lines = ["#version: 0.2", *(f"{to_printable(left)} {to_printable(right)}" for left, right in merges), ""]
    with write_whole(vocab_path, overwrite=overwrite) as file:
        file.write(json.dumps(ids, ensure_ascii=False, separators=(",", ":")).encode("utf-8"))
    with write_whole(merges_path, overwrite=overwrite) as file:
        file.write("\n".join(lines).encode("utf-8"))


def read_tokens_and_merges(vocab_path: Path, merges_path: Path) -> tuple[dict[int, bytes], list[BytesPair]]:
    """Read `vocab.json` and `merges.txt`."""
    return _read_tokens(vocab_path), _read_merges(merges_path)


def _read_text(path: Path) -> str:
    with open(path, "rb") as file:
        content = file.read()
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{os.fspath(path)}: not valid UTF-8 at byte {error.start}") from None


def _read_tokens(path: Path) -> dict[int, bytes]:
    name = os.fspath(path)
    try:
        ids = json.loads(_read_text(path))
    except RecursionError:
        raise ValueError(f"{name}: nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{name}: not JSON: {error}") from None
    if not isinstance(ids, dict):
        raise ValueError(f"{name}: must hold one object of tokens and ids")
    tokens: dict[int, bytes] = {}
    for spelled, token_id in ids.items():
        if type(token_id) is not int or token_id < 0:
            raise ValueError(f"{name}: the id of {spelled!r} is {token_id!r}, not a number from 0")
        if token_id in tokens:
            raise ValueError(f"{name}: id {token_id} stands twice, the second time for {spelled!r}")
        try:
            tokens[token_id] = from_printable(spelled)
        except KeyError:  # a special token outside the stand-ins, in plain text
            tokens[token_id] = spelled.encode("utf-8")
    return tokens


def _read_merges(path: Path) -> list[BytesPair]:
    pairs: list[BytesPair] = []
    for number, line in enumerate(_read_text(path).split("\n"), 1):
        if not line or (number == 1 and line.startswith("#version")):
            continue
        spelled = line.removesuffix("\r").split(" ")
        try:
            left, right = map(from_printable, spelled)
        except (KeyError, ValueError):
            raise ValueError(f"{os.fspath(path)}: line {number} is no merge: {line!r:.80}") from None
        pairs.append((left, right))
    return pairs
