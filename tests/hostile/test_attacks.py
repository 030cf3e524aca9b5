"""Files that were made to do harm: each gets its refusal, which names it, within bounds of time and memory.

`attacks/refusals.tsv` lists for each file (or folder of files that belong together) the exception
and what its message must say, or `none` for a file that must be read within the same bounds. Files
of megabytes are made here. Files that are merely broken are in the tests of each format.
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


# Megabytes
# ---------------------------------------------------------------------------------------------


BYTES = [bytes([byte]) for byte in range(256)]


def ranks(tokens: list[bytes]) -> bytes:
    return b"".join(
        b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens)
    )


def spelled(count: int) -> list[str]:
    """Words of five letters."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    return [
        "".join(letters[number // 26**place % 26] for place in range(5)) for number in range(count)
    ]


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
    every = [("<unk>", 0.0, 2), *((f"<0x{byte:02X}>", 0.0, 6) for byte in range(256))]
    every += [("\u2581", -1000.0, 1), *pieces]
    messages = []
    for text, score, kind in every:
        spelled = text.encode()
        inner = b"\n%c%s\x15%s\x18%c" % (len(spelled), spelled, struct.pack("<f", score), kind)
        messages.append(b"\n%c%s" % (len(inner), inner))
    return b"".join(messages) + b"\x12\x05\x18\x02\x98\x02\x01" + b"\x1a\x02\x20\x00"


def runs(count: int, *lengths: int) -> list[tuple[str, float, int]]:
    """Pieces of each of `count` characters in each of `lengths`; a character has one score."""
    return [
        (chr(0x4E00 + one) * length, -1.0 - one, 1) for one in range(count) for length in lengths
    ]


def tekken(special_count: int, **changed: object) -> bytes:
    vocab = [
        {"rank": byte, "token_bytes": base64.b64encode(BYTES[byte]).decode()} for byte in range(256)
    ]
    config = {
        "pattern": "a",
        "default_vocab_size": 256 + special_count,
        "default_num_special_tokens": special_count,
    }
    return json.dumps({"config": config, "vocab": vocab, **changed}).encode()


TAKEN = "taken"
"""The entry for a file that does no harm, and must be read."""


def tekken_vocab(*more: object) -> list[object]:
    return [*json.loads(tekken(0))["vocab"], *more]


def tekken_config(**changed: object) -> dict[str, object]:
    return {"pattern": "a", "default_vocab_size": 256, "default_num_special_tokens": 0, **changed}


def text_value(text: bytes) -> bytes:
    return struct.pack("<Q", len(text)) + text


def array_value(key: bytes, kind: int, count: int, items: bytes) -> bytes:
    return text_value(key) + struct.pack("<IIQ", 9, kind, count) + items


def string_field(key: bytes, text: bytes) -> bytes:
    return text_value(key) + struct.pack("<I", 8) + text_value(text)


def gguf(merges: list[bytes], *more: bytes, tokens: tuple[bytes, ...] = ()) -> bytes:
    """A GGUF file with all bytes and further tokens."""
    spelled = [*(to_printable(byte).encode() for byte in BYTES), *tokens]
    fields = [
        string_field(b"tokenizer.ggml.model", b"gpt2"),
        string_field(b"tokenizer.ggml.pre", b"gpt-2"),
        array_value(b"tokenizer.ggml.tokens", 8, len(spelled), b"".join(map(text_value, spelled))),
        array_value(b"tokenizer.ggml.merges", 8, len(merges), b"".join(map(text_value, merges))),
        array_value(
            b"tokenizer.ggml.token_type", 5, len(spelled), struct.pack("<i", 1) * len(spelled)
        ),
        *more,
    ]
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(fields)) + b"".join(fields)


def of_characters(vocab: dict[str, int], merges: list[list[object]], **changed: object) -> bytes:
    """A tokenizer.json whose tokens are made of characters."""
    ids = {
        "<unk>": 0,
        **{f"<0x{byte:02X}>": byte + 1 for byte in range(256)},
        "\u2581": 257,
        **vocab,
    }
    model = {
        "type": "BPE",
        "unk_token": "<unk>",
        "byte_fallback": True,
        "vocab": ids,
        "merges": merges,
    }
    steps = [
        {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
        {"type": "ByteFallback"},
    ]
    return json.dumps(
        {
            "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
            "decoder": {"type": "Sequence", "decoders": [*steps, {"type": "Fuse"}]},
            "model": model,
            **changed,
        }
    ).encode()


def trie_of_many_keys(levels: int) -> bytes:
    """A map of characters with 2 ** `levels` keys in a few bytes: the children of a node are all the same."""
    units = [0] * (levels + 2) * 256
    for level in range(levels):
        for label in (0x61, 0x62):
            below = (level + 1) * 256
            units[level * 256 ^ label] = label | (below ^ level * 256 ^ label) << 10
    packed = struct.pack(f"<{len(units)}I", *units)
    compiled = struct.pack("<I", len(packed)) + packed + b"x\0"
    size = len(compiled)
    varint = bytes([size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14])
    kept = b"\x12" + varint + compiled
    size = len(kept)
    return b"\x1a" + bytes([size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14]) + kept


DEEP = "(?:" * 1000 + "a" + ")" * 1000
REPEATS = "((a{1000}){1000}){1000}"

SMALL: dict[str, tuple[Callable[[], bytes], str]] = {
    "tekken: a byte is missing": (
        lambda: tekken(
            0,
            config=tekken_config(default_vocab_size=1),
            vocab=[{"rank": 0, "token_bytes": "YQ=="}],
        ),
        "no line holds the single byte",
    ),
    "tekken: a token twice": (
        lambda: tekken(
            0,
            config=tekken_config(default_vocab_size=257),
            vocab=tekken_vocab({"rank": 256, "token_bytes": "YQ=="}),
        ),
        "appears twice",
    ),
    "tekken: a rank twice": (
        lambda: tekken(
            0,
            config=tekken_config(default_vocab_size=257),
            vocab=tekken_vocab({"rank": 255, "token_bytes": "YWE="}),
        ),
        "vocab[256] must be an object with rank 256",
    ),
    "tekken: more tokens than it lists": (
        lambda: tekken(0, config=tekken_config(default_vocab_size=10**9)),
        "but vocab has 256",
    ),
    "tekken: a pattern nested deeply": (
        lambda: tekken(0, config=tekken_config(pattern=DEEP)),
        "nested",
    ),
    "tekken: a pattern of great repeats": (
        lambda: tekken(0, config=tekken_config(pattern=REPEATS)),
        "not supported",
    ),
    "tekken: a special token of half a surrogate pair": (
        lambda: tekken(2, special_tokens=[{"rank": 0, "token_str": "\ud800"}]),
        "surrogates not allowed",
    ),
    "tekken: a special token without text": (
        lambda: tekken(2, special_tokens=[{"rank": 0, "token_str": ""}]),
        "non-empty",
    ),
    "tekken: not UTF-8": (lambda: tekken(0).replace(b"YQ==", b"\xff\xfe"), "not valid UTF-8"),
    "tekken: a key twice": (
        lambda: tekken(0).replace(b'{"config"', b'{"vocab": [], "config"'),
        "twice",
    ),
    "GGUF: nothing": (lambda: b"GGUF", "cut off, or broken, at byte 4"),
    "GGUF: of the future": (lambda: b"GGUF" + struct.pack("<IQQ", 9, 0, 0), "version 9"),
    "GGUF: no fields": (lambda: b"GGUF" + struct.pack("<IQQ", 3, 0, 0), "it holds"),
    "GGUF: fields without end": (
        lambda: b"GGUF" + struct.pack("<IQQ", 3, 0, 2**63),
        "items cannot follow",
    ),
    "GGUF: a string without end": (
        lambda: gguf([], text_value(b"a") + struct.pack("<IQ", 8, 2**64 - 1)),
        "18446744073709551615 more bytes are needed",
    ),
    "GGUF: arrays in arrays": (
        lambda: gguf([], array_value(b"a", 9, 1, struct.pack("<IQ", 9, 1) * 1000)),
        "an array of kind 9 cannot be read",
    ),
    "GGUF: a key twice": (
        lambda: gguf([], string_field(b"tokenizer.ggml.model", b"gpt2")),
        "appears twice",
    ),
    "GGUF: a token that is not UTF-8": (lambda: gguf([], tokens=(b"\xff",)), "not valid UTF-8"),
    "GGUF: a token twice": (lambda: gguf([], tokens=(b"a",)), "'a' appears twice"),
    "GGUF: a merge of an unknown": (lambda: gguf([b"a qq"]), "made of 'qq', which is not a token"),
    "GGUF: a merge of three": (lambda: gguf([b"a b c"]), "is not a pair of tokens"),
    "GGUF: a merge with a line break": (lambda: gguf([b"a b\na c"]), "is not a pair of tokens"),
    "GGUF: a merge that makes no token": (
        lambda: gguf([b"a b"]),
        "makes 'ab', which is not a token",
    ),
    "GGUF: merges in a circle": (
        lambda: gguf([b"abab ab", b"ab abab"], tokens=(b"ab", b"abab", b"ababab")),
        TAKEN,
    ),
    "characters: an id that leaves none free": (
        lambda: of_characters({"é": 2**32 - 2}, []),
        "its ids leave no free ones",
    ),
    "characters: an id past 32 bits": (
        lambda: of_characters({"é": 2**32}, []),
        "not a number from 0 to",
    ),
    "characters: a merge of an unknown": (
        lambda: of_characters({"a": 300}, [["a", "zz"]]),
        "is made of 'zz', which is not a token",
    ),
    "characters: a merge of three": (
        lambda: of_characters({"a": 300}, [["a", "a", "a"]]),
        "not a pair",
    ),
    "characters: a merge of a number": (
        lambda: of_characters({"a": 300}, [["a", 5]]),
        "is not a pair",
    ),
    "characters: merges in a circle": (
        lambda: of_characters({"a": 300, "aa": 301, "aaa": 302}, [["aa", "a"], ["a", "aa"]]),
        TAKEN,
    ),
    "characters: half a surrogate pair": (
        lambda: of_characters({"\ud800": 300}, []),
        "is not text: surrogates not allowed",
    ),
    "a map of characters with keys without end": (
        lambda: sentencepiece([]) + trie_of_many_keys(20),
        "its map of characters is broken",
    ),
}
"""Small files of the formats that are only read, each with what its refusal says."""


@pytest.mark.parametrize("name", SMALL)
def test_a_small_attack_is_refused_by_name(name: str, tmp_path: Path) -> None:
    content, says = SMALL[name]
    (tmp_path / "small").write_bytes(content())
    refused_by_all("any", tmp_path / "small", "none" if says == TAKEN else "ValueError", says)


def test_folders_of_links_in_a_circle_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").symlink_to(tmp_path / "tokenizer.json")
    (tmp_path / "within").symlink_to(tmp_path)
    refused_by_all("any", tmp_path, "FileNotFoundError", "is in this folder")


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
    "gzip of zeros": (
        "any",
        lambda: gzip.compress(b"\0" * 200_000_000),
        "it is compressed by gzip",
    ),
    "strings without end": (
        "any",
        lambda: (
            b"GGUF" + struct.pack("<IQQQBIIQ", 3, 0, 1, 1, 97, 9, 8, 900_000) + b"\0" * 7_200_000
        ),
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
                "config": {
                    "pattern": "a",
                    "default_vocab_size": 100_000,
                    "default_num_special_tokens": 0,
                },
                "vocab": [{"rank": rank, "token_bytes": "YQ=="} for rank in range(100_000)],
            }
        ).encode(),
        "appears twice",
    ),
    "special tokens of tekken that nearly all have no name": (
        "any",
        lambda: tekken(100_000),
        TAKEN,
    ),
    "more special tokens of tekken than there may be": (
        "any",
        lambda: tekken(100_001),
        "a number from 0 to",
    ),
    "a special token of tekken again and again": (
        "any",
        lambda: tekken(9, special_tokens=[{"rank": 3, "token_str": "<x>"}] * 100_000),
        "special_tokens[1]",
    ),
    "ranks, one again and again": (
        "ranks",
        lambda: b"AA== 0\n" * 2_000_000,
        "line 2: rank 0 appears twice",
    ),
    "ranks, one token again and again": (
        "ranks",
        lambda: b"".join(b"AA== %d\n" % rank for rank in range(500_000)),
        "appears twice",
    ),
    "ranks of one line": ("ranks", lambda: b"A" * 16_000_000, "plain text"),
    "pieces of equal scores": ("any", lambda: sentencepiece(runs(20_000, 2, 3)), TAKEN),
    "runs of pieces of equal scores": (
        "any",
        lambda: sentencepiece(runs(3_000, 2, 17, 32)),
        TAKEN,
    ),
    "pieces that are runs": ("any", lambda: sentencepiece(runs(1, *range(2, 33))), TAKEN),
    "pieces of many characters": (
        "any",
        lambda: sentencepiece([(chr(0x10000 + code), -1.0 - code, 1) for code in range(100_000)]),
        TAKEN,
    ),
    "one piece again and again": (
        "any",
        lambda: sentencepiece([("ab", -1.0, 1)] * 100_000),
        "appears twice",
    ),
    "a number without end": (
        "any",
        lambda: sentencepiece([]) + b"\xff" * 4_000_000,
        "within a number",
    ),
    "deep artifact": ("artifact", lambda: b"[" * 4_000_000, "nested"),
    "text for counts": ("counts", lambda: b"bpetite counts\n" * 300_000, "rules: not JSON"),
}


@pytest.mark.parametrize("name", HUGE)
def test_megabytes_are_refused_by_name(name: str, tmp_path: Path) -> None:
    kind, content, says = HUGE[name]
    (tmp_path / "huge").write_bytes(content())
    refused_by_all(kind, tmp_path / "huge", "none" if says == TAKEN else "ValueError", says)


# Bounds
# ------------------------------------------------------------------------------------------------


MEMORY_PER_BYTE, MEMORY_AT_LEAST = 200, 64 * 2**20
"""The memory that loading may take: for each byte of the file, and a fixed amount, as in `make fuzz`."""

SECONDS_PER_MEGABYTE, SECONDS_AT_LEAST = 2.0, 5.0
"""The processor time: seconds for each megabyte of the file, and a fixed amount."""

MEASURED = """
import json, os, resource, sys, time, warnings
import numpy  # which the loader of counts imports when it is first called
sys.path.insert(0, sys.argv[1])
import test_attacks

warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads

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


@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux tells a process's own peak of memory"
)
def test_every_attack_is_refused_in_memory_and_time_by_its_size(tmp_path: Path) -> None:
    attacks = [(name.partition("/")[0], str(ATTACKS / name)) for name, _, _ in REFUSALS]
    every = {**HUGE, **{name: ("any", *attack) for name, attack in SMALL.items()}}
    for name, (kind, content, _) in every.items():
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
        assert memory <= MEMORY_AT_LEAST + MEMORY_PER_BYTE * size, (
            f"{path}: {memory} bytes for {size}"
        )
        assert seconds <= SECONDS_AT_LEAST + SECONDS_PER_MEGABYTE * size / 1e6, (
            f"{path}: {seconds} s"
        )
