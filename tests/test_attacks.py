"""Files that were made to do harm: each gets its refusal, which names it, within bounds of time and memory.

`attacks/refusals.tsv` lists for each file (or folder of files that belong together) the exception and what
its message must say, or `none` for a file that must be read within the same bounds. Files of megabytes are
made here. Files that are merely broken are in the tests of each format.
"""

import base64
import builtins
import gzip
import json
import os
import re
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bpetite import Counts, Tokenizer, corpus, cs336
from bpetite.formats.shared.printable import to_printable

ATTACKS = Path(__file__).parent / "attacks"
REFUSALS = [line.split("\t") for line in (ATTACKS / "refusals.tsv").read_text("utf-8").splitlines()]


def files_of(folder: Path) -> tuple[Path, Path]:
    return folder / "vocab.json", folder / "merges.txt"


LOADERS: dict[str, list[Callable[[Path], object]]] = {
    "any": [Tokenizer.load],
    "artifact": [Tokenizer.load],
    "counts": [Counts.load],
    "cs336": [lambda folder: cs336.Tokenizer.from_files(*files_of(folder))],
    "gpt2": [
        lambda folder: cs336.Tokenizer.from_files(*files_of(folder)),
        lambda folder: Tokenizer.from_gpt2(*files_of(folder)),
    ],
    "huggingface": [Tokenizer.from_huggingface],
    "manifest": [corpus.verify],
    "ranks": [lambda path: Tokenizer.load(path, pattern="gpt2")],
    "tiktoken": [lambda path: Tokenizer.from_tiktoken(path, pattern="gpt2")],
}


def refused_by_all(kind: str, path: Path, exception: str, says: str) -> None:
    for load in LOADERS[kind]:
        if exception == "none":
            load(path)
            continue
        with pytest.raises(getattr(builtins, exception), match=re.escape(says)) as refused:
            load(path)
        assert str(path) in str(refused.value)
        assert len(str(refused.value)) < 1000 + 2 * len(str(path))


def test_every_attack_has_its_refusal() -> None:
    assert [name for name, _, _ in REFUSALS] == sorted(
        path.relative_to(ATTACKS).as_posix() for path in ATTACKS.glob("*/*")
    )


@pytest.mark.parametrize(("name", "exception", "says"), REFUSALS)
def test_an_attack_is_refused_by_name(name: str, exception: str, says: str) -> None:
    refused_by_all(name.partition("/")[0], ATTACKS / name, exception, says)


# Megabytes ---------------------------------------------------------------------------------------------


BYTES = [bytes([byte]) for byte in range(256)]


def ranks(tokens: list[bytes]) -> bytes:
    return b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens))


def spelled(count: int) -> list[str]:
    """Words of five letters."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    return ["".join(letters[number // 26**place % 26] for place in range(5)) for number in range(count)]


def tokenizer_json(added: list[dict[str, object]], merges: list[list[str]]) -> bytes:
    spellings = [to_printable(byte) for byte in BYTES]
    spellings += dict.fromkeys(left + right for left, right in merges)
    vocab = {spelling: token_id for token_id, spelling in enumerate(spellings)}
    return json.dumps(
        {
            "added_tokens": added,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
            "model": {"type": "BPE", "vocab": vocab, "merges": merges},
        }
    ).encode()


def added(count: int, first_id: int = 256, **flags: object) -> list[dict[str, object]]:
    return [{"id": first_id + number, "content": f"<{number}>", **flags} for number in range(count)]


def long_added() -> list[dict[str, object]]:
    """Two sets of added tokens that differ only in their last characters."""
    return [
        {
            "id": 256 + number,
            "content": f"{'a' * 1000}{number:04}",
            "special": True,
            "normalized": number < 500,
        }
        for number in range(1000)
    ]


def chain(length: int) -> list[list[str]]:
    """Merges that each make `a` longer by one, the longest first."""
    return [["a" * known, "a"] for known in range(length, 0, -1)]


def sentencepiece(pieces: list[tuple[str, float, int]]) -> bytes:
    """A `.model` of all bytes and some pieces (texts, scores, kinds) of fewer than 100 bytes each."""
    every = [("<unk>", 0.0, 2), *((f"<0x{byte:02X}>", 0.0, 6) for byte in range(256)), *pieces]
    messages = []
    for text, score, kind in every:
        spelled = text.encode()
        inner = b"\n%c%s\x15%s\x18%c" % (len(spelled), spelled, struct.pack("<f", score), kind)
        messages.append(b"\n%c%s" % (len(inner), inner))
    return b"".join(messages) + b"\x12\x05\x18\x02\x98\x02\x01" + b"\x1a\x02\x20\x00"


def runs(count: int, *lengths: int) -> list[tuple[str, float, int]]:
    """Pieces of each of `count` characters in each of `lengths`; a character has one score."""
    return [(chr(0x4E00 + one) * length, -1.0 - one, 1) for one in range(count) for length in lengths]


def tekken(special_count: int, **changed: object) -> bytes:
    vocab = [{"rank": byte, "token_bytes": base64.b64encode(BYTES[byte]).decode()} for byte in range(256)]
    config = {
        "pattern": "a",
        "default_vocab_size": 256 + special_count,
        "default_num_special_tokens": special_count,
    }
    return json.dumps({"config": config, "vocab": vocab, **changed}).encode()


TAKEN = "taken"
"""The entry for a file that does no harm, and must be read."""

HUGE: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "unreachable tokens": (
        "tiktoken",
        lambda: ranks([*BYTES, *(word.encode() for word in spelled(100_000))]),
        TAKEN,
    ),
    "doubled tokens": (
        "tiktoken",
        lambda: ranks([*BYTES, *(b"a" * 2**power for power in range(1, 21)), b"zzz"]),
        TAKEN,
    ),
    "doubled tokens, the longest first": (
        "tiktoken",
        lambda: ranks([*BYTES, *(b"a" * 2**power for power in range(20, 0, -1))]),
        TAKEN,
    ),
    "one line": ("tiktoken", lambda: b"A" * 4_000_000, "line 1"),
    "deep JSON": ("huggingface", lambda: b'{"model":' * 500_000, "nested too deeply"),
    "one merge again and again": (
        "huggingface",
        lambda: tokenizer_json([], [["a", "b"]] * 300_000),
        TAKEN,
    ),
    "merges from the last to the first": (
        "huggingface",
        lambda: tokenizer_json([], chain(1200)),
        TAKEN,
    ),
    "added tokens without end": (
        "huggingface",
        lambda: tokenizer_json([*added(60_000), {"id": 5, "content": "<>"}], []),
        "added_tokens[60000]",
    ),
    "added tokens that are nearly alike": (
        "huggingface",
        lambda: tokenizer_json(long_added(), []),
        TAKEN,
    ),
    "gzip of zeros": ("any", lambda: gzip.compress(b"\0" * 200_000_000), "unpacked, it is more than"),
    "strings without end": (
        "any",
        lambda: b"GGUF" + struct.pack("<IQQQBIIQ", 3, 0, 1, 1, 97, 9, 8, 900_000) + b"\0" * 7_200_000,
        "it holds",
    ),
    "numbers without end": (
        "any",
        lambda: b"GGUF" + struct.pack("<IQQQBIIQ", 3, 0, 1, 1, 97, 9, 0, 2**24) + b"\0" * 2**24,
        "it holds",
    ),
    "tekken of one token again and again": (
        "any",
        lambda: json.dumps(
            {
                "config": {"pattern": "a", "default_vocab_size": 100_000, "default_num_special_tokens": 0},
                "vocab": [{"rank": rank, "token_bytes": "YQ=="} for rank in range(100_000)],
            }
        ).encode(),
        "appears twice",
    ),
    "special tokens of tekken that nearly all have no name": ("any", lambda: tekken(100_000), TAKEN),
    "more special tokens of tekken than there may be": ("any", lambda: tekken(100_001), "a number from 0 to"),
    "a special token of tekken again and again": (
        "any",
        lambda: tekken(9, special_tokens=[{"rank": 3, "token_str": "<x>"}] * 100_000),
        "special_tokens[1]",
    ),
    "packed ranks, one again and again": (
        "ranks",
        lambda: gzip.compress(b"AA== 0\n" * 2_000_000),
        "line 2: rank 0 appears twice",
    ),
    "packed ranks, one token again and again": (
        "ranks",
        lambda: gzip.compress(b"".join(b"AA== %d\n" % rank for rank in range(500_000))),
        "appears twice",
    ),
    "packed again": ("ranks", lambda: gzip.compress(gzip.compress(b"\0" * 10_000_000)), "not valid UTF-8"),
    "ranks of a packed line": ("ranks", lambda: gzip.compress(b"A" * 16_000_000), "not an artifact"),
    "pieces of equal scores": ("any", lambda: sentencepiece(runs(20_000, 2, 3)), "have the same score"),
    "runs of pieces of equal scores": (
        "any",
        lambda: sentencepiece(runs(3_000, 2, 17, 32)),
        "have the same score",
    ),
    "pieces that are runs": ("any", lambda: sentencepiece(runs(1, *range(2, 33))), TAKEN),
    "pieces of many characters": (
        "any",
        lambda: sentencepiece([(chr(0x10000 + code), -1.0 - code, 1) for code in range(100_000)]),
        TAKEN,
    ),
    "one piece again and again": ("any", lambda: sentencepiece([("ab", -1.0, 1)] * 100_000), "appears twice"),
    "a number without end": ("any", lambda: sentencepiece([]) + b"\xff" * 4_000_000, "within a number"),
    "deep artifact": ("artifact", lambda: b"[" * 4_000_000, "nested"),
    "text for counts": ("counts", lambda: b"PAR1" * 1_000_000, "not a complete Parquet file"),
}


@pytest.mark.parametrize("name", HUGE)
def test_megabytes_are_refused_by_name(name: str, tmp_path: Path) -> None:
    kind, content, says = HUGE[name]
    (tmp_path / "huge").write_bytes(content())
    refused_by_all(kind, tmp_path / "huge", "none" if says == TAKEN else "ValueError", says)


# Bounds ------------------------------------------------------------------------------------------------


MEMORY_PER_BYTE, MEMORY_AT_LEAST = 200, 64 * 2**20
"""The memory that loading may take: for each byte of the file, and a fixed amount, as in `make fuzz`."""

SECONDS_PER_MEGABYTE, SECONDS_AT_LEAST = 2.0, 5.0
"""The processor time: seconds for each megabyte of the file, and a fixed amount."""

MEASURED = """
import json, os, resource, sys, time
import pyarrow.compute, pyarrow.parquet  # which the loader of counts imports when it is first called
sys.path.insert(0, sys.argv[1])
import test_attacks

def peak():
    with open("/proc/self/status") as status:
        return int(status.read().partition("VmHWM:")[2].split()[0]) * 1024

def measure(load, path):
    resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = peak()
    try:
        load(test_attacks.Path(path))
    except (ValueError, KeyError):
        pass
    print(json.dumps([path, peak() - before, time.process_time()]), flush=True)
    os._exit(0)

for line in sys.stdin:
    kind, path = json.loads(line)
    for load in test_attacks.LOADERS[kind]:
        child = os.fork()
        if not child:
            try:
                measure(load, path)
            finally:
                os._exit(1)
        if os.waitpid(child, 0)[1]:
            sys.exit(f"{path}: neither taken nor refused")
"""
"""Loads each file in a process of its own, and prints the additional memory and the time."""


def size_of(path: Path) -> int:
    return sum(file.stat().st_size for file in [path, *path.rglob("*")] if file.is_file())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process's own peak of memory")
def test_every_attack_is_refused_in_memory_and_time_by_its_size(tmp_path: Path) -> None:
    attacks = [(name.partition("/")[0], str(ATTACKS / name)) for name, _, _ in REFUSALS]
    for name, (kind, content, _) in HUGE.items():
        path = tmp_path / name
        path.write_bytes(content())
        attacks.append((kind, str(path)))
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(ATTACKS.parent)],
        input="".join(json.dumps(attack) + "\n" for attack in attacks),
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    measures = [json.loads(line) for line in done.stdout.splitlines()]
    assert {path for path, *_ in measures} == {path for _, path in attacks}
    for path, memory, seconds in measures:
        size = size_of(Path(path))
        assert memory <= MEMORY_AT_LEAST + MEMORY_PER_BYTE * size, f"{path}: {memory} bytes for {size}"
        assert seconds <= SECONDS_AT_LEAST + SECONDS_PER_MEGABYTE * size / 1e6, f"{path}: {seconds} s"
