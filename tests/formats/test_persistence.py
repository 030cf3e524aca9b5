"""Artifacts: the same state is the same bytes, saving is whole or not at all, loading checks everything."""

import copy
import dataclasses
import json
import os
import pickle
import re
from array import array
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bpetite import Dialect, Tokenizer, Vocabulary, _persistence
from bpetite._constants import (
    END_OF_TEXT_TOKEN,
    GENERAL_SCHEMA_VERSION,
    PRETOKENIZER_PATTERN,
    SCHEMA_VERSION,
    UNICODE_VERSION,
)
from bpetite._engine import numbers_json, pairs_json, tokens_json
from bpetite._internal.json import parse_object, written
from bpetite._trainer import train_bpe
from bpetite.dialect import DIALECTS
from bpetite.vocabulary import LARGEST_ID, Arrays

CORPUS = "the cat sat on the mat, the bat sat on the hat; naïve cafés"


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return Tokenizer.train(CORPUS, 270)


@pytest.fixture(scope="module")
def rich() -> Tokenizer:
    """A tokenizer with rules of its own."""
    return Tokenizer.train_from_iterator(
        [CORPUS],
        300,
        dialect="huggingface",
        pattern=r"\w+|\W",
        special_tokens=["<a>", "<b>"],
        min_count=2,
    )


def saved(tokenizer: Tokenizer) -> dict[str, Any]:
    document = json.loads(_persistence.artifact_bytes(tokenizer.vocabulary))
    assert isinstance(document, dict)
    return document


def canonical(document: dict[str, Any]) -> bytes:
    text = json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode("utf-8")


def test_an_artifact_of_schema_1_has_exactly_these_bytes(tmp_path: Path) -> None:
    Tokenizer.train("ab ab ab", 258).save(tmp_path / "tok.json")
    vocab = {str(byte): [byte] for byte in range(256)}
    vocab |= {"256": [97, 98], "257": [32, 97, 98], "258": list(b"<|endoftext|>")}
    assert (tmp_path / "tok.json").read_bytes() == canonical(
        {
            "mergeable_vocab_size": 258,
            "merges": [[97, 98], [32, 256]],
            "pretokenizer_pattern": PRETOKENIZER_PATTERN,
            "schema_version": 1,
            "special_tokens": {"<|endoftext|>": 258},
            "vocab": vocab,
        }
    )
    assert SCHEMA_VERSION == 1


def test_an_artifact_of_schema_2_is_compact_sorted_json(rich: Tokenizer, tmp_path: Path) -> None:
    rich.save(tmp_path / "tok.json")
    content = (tmp_path / "tok.json").read_bytes()
    document = json.loads(content)
    assert list(document) == sorted(_persistence._KEYS)
    assert document["schema_version"] == GENERAL_SCHEMA_VERSION == 2
    assert document["pattern"] == rich.pattern
    assert sorted(document["tokens"].values()) == [f"{byte:02x}" for byte in range(256)]
    assert document["merge_ids"] == list(rich.vocabulary.merge_ids)
    assert document["merges"] == [part for pair in rich.merges for part in pair]
    assert content == canonical(document)


DEFAULT = Tokenizer.train(CORPUS, 270).vocabulary
END = {END_OF_TEXT_TOKEN: 270}
IRREGULAR_MERGES = [(257, 99), (97, 98)]


@pytest.mark.parametrize(
    "other",
    [
        Tokenizer.train_from_iterator([CORPUS], 270, dialect="tiktoken").vocabulary,
        Tokenizer.train_from_iterator([CORPUS], 270, pattern="cl100k").vocabulary,
        Tokenizer.train_from_iterator(
            [CORPUS], 270, special_tokens=["<|endoftext|>", "<|x|>"]
        ).vocabulary,
        Tokenizer.train_from_iterator([CORPUS], 270, special_tokens=["<|x|>"]).vocabulary,
        Tokenizer.train_from_iterator([CORPUS], 270, special_tokens=[]).vocabulary,
        Tokenizer.train_from_iterator([CORPUS], 300, min_count=2).vocabulary,
        dataclasses.replace(DEFAULT, special_tokens={END_OF_TEXT_TOKEN: 271}),
        dataclasses.replace(DEFAULT, normalization="NFC"),
        dataclasses.replace(DEFAULT, whole_pretoken_first=True),
        dataclasses.replace(DEFAULT, added_tokens={END_OF_TEXT_TOKEN}),
        dataclasses.replace(DEFAULT, token_flags={END_OF_TEXT_TOKEN: ["lstrip"]}),
        dataclasses.replace(DEFAULT, decode_only={271: b"x"}),
        dataclasses.replace(DEFAULT, drops_space=True),
        dataclasses.replace(DEFAULT, equal_ranks=[(0, 2)], irregular=True),
        Vocabulary({**DEFAULT.tokens, 271: b"xyz"}, DEFAULT.merges, END),
        Vocabulary({**DEFAULT.tokens, 270: b"xyz"}, DEFAULT.merges, {END_OF_TEXT_TOKEN: 271}),
        Vocabulary(
            {byte: bytes([byte]) for byte in range(256)} | {256: b"abc", 257: b"ab"},
            IRREGULAR_MERGES,
            {END_OF_TEXT_TOKEN: 258},
            irregular=True,
        ),
        Vocabulary(
            {255 - byte: bytes([byte]) for byte in range(256)}, [], {END_OF_TEXT_TOKEN: 256}
        ),
    ],
    ids=str,
)
def test_what_schema_1_cannot_say_is_saved_as_schema_2(other: Vocabulary) -> None:
    artifact = _persistence.artifact_bytes(other)
    assert json.loads(artifact)["schema_version"] == 2
    assert _persistence.vocabulary_of(artifact, "a.json") == other


@pytest.mark.parametrize("size", [256, 257, 270, 400])
def test_both_schemas_hold_a_default_vocabulary(size: int) -> None:
    vocabulary = Tokenizer.train(CORPUS, size).vocabulary
    artifact = _persistence.artifact_bytes(vocabulary)
    general = _persistence.general_artifact_bytes(vocabulary)
    assert [json.loads(written)["schema_version"] for written in (artifact, general)] == [1, 2]
    assert (
        _persistence.vocabulary_of(artifact, "a")
        == vocabulary
        == _persistence.vocabulary_of(general, "a")
    )


def test_fingerprints_do_not_depend_on_the_schema() -> None:
    known = "f70cffb7279860a710b3fad163f0004e385f84ce2b331a453d2224473c603d7e"
    assert Tokenizer.train("ab ab ab", 258).fingerprint == known


def test_the_same_state_is_the_same_bytes(tok: Tokenizer, tmp_path: Path) -> None:
    tok.save(tmp_path / "a.json")
    Tokenizer.load(tmp_path / "a.json").save(tmp_path / "b.json")
    result = train_bpe(CORPUS, 270)
    _persistence.save(tmp_path / "c.json", result.vocab, result.merges, result.special_tokens)
    _persistence.save(tmp_path / "d.json", *_persistence.load(tmp_path / "c.json"))
    contents = {(tmp_path / name).read_bytes() for name in ("a.json", "b.json", "c.json", "d.json")}
    assert len(contents) == 1
    vocab, merges, special_tokens = _persistence.load(tmp_path / "a.json")
    assert vocab == result.vocab
    assert merges == list(result.merges)
    assert special_tokens == result.special_tokens


def test_save_and_load_of_the_parts_are_strict_about_files(tok: Tokenizer, tmp_path: Path) -> None:
    parts = train_bpe(CORPUS, 270)
    how = parts.vocab, parts.merges, parts.special_tokens
    path = tmp_path / "tok.json"
    with pytest.raises(FileNotFoundError):
        _persistence.load(path)
    with pytest.raises(FileNotFoundError):
        _persistence.save(tmp_path / "nowhere" / "tok.json", *how)
    path.write_text("precious")
    with pytest.raises(FileExistsError):
        _persistence.save(path, *how)
    assert path.read_text() == "precious"
    _persistence.save(path, *how, overwrite=True)
    assert Tokenizer.load(path) == tok
    assert [entry.name for entry in tmp_path.iterdir()] == ["tok.json"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"vocab": {}}, "lacks id 0"),
        ({"merges": [(97, 98)]}, "special_tokens: the id"),
        ({"merges": ()}, "special_tokens: the id"),
        ({"special_tokens": {}}, "special_tokens"),
        ({"special_tokens": {"<|end|>": 270}}, "special_tokens"),
        ({"special_tokens": {END_OF_TEXT_TOKEN: 270, "<|x|>": 271}}, "special_tokens"),
        ({"special_tokens": {END_OF_TEXT_TOKEN: 271}}, "270, not 271"),
    ],
)
def test_save_refuses_parts_that_schema_1_cannot_say(
    changes: dict[str, Any], says: str, tmp_path: Path
) -> None:
    result = train_bpe(CORPUS, 270)
    how: dict[str, Any] = {
        "vocab": result.vocab,
        "merges": result.merges,
        "special_tokens": result.special_tokens,
        **changes,
    }
    with pytest.raises(ValueError, match=f"tok.json: .*{says}"):
        _persistence.save(tmp_path / "tok.json", **how)
    assert list(tmp_path.iterdir()) == []


def test_load_of_the_parts_refuses_schema_2(rich: Tokenizer, tmp_path: Path) -> None:
    rich.save(tmp_path / "tok.json")
    with pytest.raises(ValueError, match="schema_version: 2 is not 1"):
        _persistence.load(tmp_path / "tok.json")


@pytest.mark.parametrize("name", list(DIALECTS))
@pytest.mark.parametrize("pattern", ["gpt2", "o200k", r"\w+|\W"])
def test_every_dialect_and_pattern_survives(name: str, pattern: str, tmp_path: Path) -> None:
    tok = Tokenizer.train_from_iterator(
        [CORPUS], 300, dialect=name, pattern=pattern, special_tokens=["<a>", "<b>"]
    )
    tok.save(tmp_path / "tok.json")
    loaded = Tokenizer.load(tmp_path / "tok.json")
    assert loaded.vocabulary == tok.vocabulary
    assert loaded.vocabulary.merge_ids == tok.vocabulary.merge_ids
    assert loaded.encode(CORPUS + "<a><b>") == tok.encode(CORPUS + "<a><b>")


def test_an_artifact_records_rules_and_training_options(rich: Tokenizer) -> None:
    document = saved(rich)
    assert document["dialect"] == Dialect.named("huggingface").to_dict()
    assert document["unicode_version"] == UNICODE_VERSION
    assert document["trained_with"] == {"min_count": 2}


def test_an_artifact_of_another_unicode_version_says_how_it_can_be_used(
    rich: Tokenizer, tmp_path: Path
) -> None:
    path = tmp_path / "older.json"
    written = _persistence.artifact_bytes(rich.vocabulary).decode("utf-8")
    path.write_text(written.replace(UNICODE_VERSION, "15.1.0"), "utf-8")
    with pytest.raises(ValueError, match=r"unicode_version: '15\.1\.0' made it, .* or,") as refused:
        Tokenizer.load(path)
    [told] = re.findall(r'write ("unicode_version":"[^"]*") into the file$', str(refused.value))
    path.write_text(re.sub('"unicode_version":"[^"]*"', told, path.read_text("utf-8")), "utf-8")
    assert Tokenizer.load(path) == rich


def test_another_unicode_version_changes_every_fingerprint(
    rich: Tokenizer, tok: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [made.fingerprint for made in (rich, tok)]
    copies = [pickle.loads(pickle.dumps(made)) for made in (rich, tok)]
    monkeypatch.setattr("bpetite.vocabulary.UNICODE_VERSION", "99.0.0")
    assert not set(before) & {made.fingerprint for made in copies}


def test_save_refuses_to_overwrite_unless_told(tok: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tok.json"
    path.write_text("precious")
    with pytest.raises(FileExistsError):
        tok.save(path)
    assert path.read_text() == "precious"
    tok.save(path, overwrite=True)
    assert Tokenizer.load(path) == tok


def test_save_needs_an_existing_folder_and_leaves_nothing(tok: Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        tok.save(tmp_path / "nowhere" / "tok.json")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_save_leaves_the_old_file_and_no_other(
    tok: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tok.json"
    path.write_text("precious")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        tok.save(path, overwrite=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["tok.json"]
    assert path.read_text() == "precious"


def test_save_follows_a_link_to_its_target(tok: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    tok.save(tmp_path / "link.json", overwrite=True)
    assert (tmp_path / "link.json").is_symlink()
    assert Tokenizer.load(tmp_path / "real.json") == tok


@pytest.mark.skipif(os.name != "posix", reason="named pipes are files on POSIX systems only")
def test_save_puts_no_file_in_the_place_of_a_pipe_or_a_device(
    tok: Tokenizer, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(FileExistsError, match="pipe is a device or a pipe"):
        tok.save(pipe, overwrite=True)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_load_of_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Tokenizer.load(tmp_path / "tok.json")


Change = Callable[[dict[str, Any]], object]


def put(key: str, value: object) -> Change:
    return lambda document: document.__setitem__(key, value)


def put_in(key: str, place: Any, value: object) -> Change:
    return lambda document: document[key].__setitem__(place, value)


CHANGES: list[tuple[str, Change]] = [
    ("schema_version: 3 is not 1 or 2", put("schema_version", 3)),
    ("'added_tokens' is not a key of an artifact of schema 1", put("schema_version", 1)),
    ("schema_version", put("schema_version", True)),
    ("schema_version", put("schema_version", "2")),
    ("schema_version", put("schema_version", 2.0)),
    ("extra", put("extra", 1)),
    ("unicode_version", put("unicode_version", "1.0")),
    ("pattern", put("pattern", None)),
    ("whole_pretoken_first", put("whole_pretoken_first", 1)),
    ("normalization", put("normalization", "NFX")),
    ("normalization", put("normalization", [["Replace", "a"]])),
    ("token_flags", put("token_flags", {"<x>": ["lstrip"]})),
    ("token_flags", put("token_flags", [])),
    ("normalization", put("normalization", False)),
    ("added_tokens", put("added_tokens", "<a>")),
    ("added_tokens", put("added_tokens", [1])),
    ("added token '<c>'", put("added_tokens", ["<c>"])),
    ("dialect", put("dialect", "cs336")),
    ("dialect", put("dialect", {})),
    ("tie_break", put_in("dialect", "tie_break", "random")),
    ("dialect", put_in("dialect", "tie_break", 1)),
    ("trained_with", put_in("trained_with", "min_count", -1)),
    ("trained_with", put_in("trained_with", "colour", 1)),
    ("trained_with", put_in("trained_with", "without", 1)),
    ("trained_with", put_in("trained_with", "without", [""])),
    ("trained_with", put_in("trained_with", "without", [":", ":"])),
    ("trained_with", put_in("trained_with", "whole_characters", False)),
    ("trained_with", put_in("trained_with", "max_words", [":"])),
    ("merges", lambda document: document["merges"].pop()),
    ("merge 0 uses id 1000000", put_in("merges", 0, 10**6)),
    ("merges", put_in("merges", 0, -1)),
    ("merges", put_in("merges", 0, 10**30)),
    (r"merges\[0\] must be an id .*, not \[97, 98\]", put("merges", [[97, 98]])),
    ("merge_ids", lambda document: document["merge_ids"].pop()),
    (r"merge \d+ (makes|uses id)", put_in("merge_ids", 0, 5)),
    ("special_tokens", put_in("special_tokens", "<a>", 5.5)),
    ("id 5", put_in("special_tokens", "<a>", 5)),
    ("special", put_in("special_tokens", "", 100_000)),
    ("the base tokens lack byte", lambda document: document["tokens"].pop("5")),
    ("two ids", put_in("tokens", "100000", "61")),
    ("empty", put_in("tokens", "100000", "")),
    ("tokens", put("tokens", [])),
    *(("tokens", put_in("tokens", key, "61")) for key in ("05", "-1", "٣", "9" * 5000, str(2**32))),
    *(("tokens", put_in("tokens", "100000", value)) for value in ("6", "6G", "6A", [97], None)),
    (r"merge \d+ uses id|lacks|token 262", put_in("tokens", "262", "6162")),
    ("decode_only", put("decode_only", [])),
    ("decode_only", put_in("decode_only", "100000", "6")),
    ("id 5", put_in("decode_only", "5", "61")),
    ("drops_space", put("drops_space", False)),
    ("drops_missing", put("drops_missing", "all")),
    ("equal_ranks", put("equal_ranks", [0])),
    ("provisional", put("provisional", [True])),
    ("unknown", put("unknown", [0])),
    ("unknown", put("unknown", [-1, True])),
]


CHANGES_OF_SCHEMA_1: list[tuple[str, Change]] = [
    ("'mergeable_vocab_size' is not a key of an artifact of schema 2", put("schema_version", 2)),
    ("schema_version: 3 is not 1 or 2", put("schema_version", 3)),
    ("schema_version: True", put("schema_version", True)),
    ("'extra' is not a key of an artifact of schema 1", put("extra", 1)),
    ("pretokenizer_pattern: 'a' is not the pattern of schema 1", put("pretokenizer_pattern", "a")),
    ("pretokenizer_pattern: None", put("pretokenizer_pattern", None)),
    (
        "mergeable_vocab_size is 271, but 256 bytes and 14 merges make 270",
        put("mergeable_vocab_size", 271),
    ),
    ("mergeable_vocab_size is 270.0", put("mergeable_vocab_size", 270.0)),
    ("mergeable_vocab_size is True", put("mergeable_vocab_size", True)),
    ("merges must be a list", put("merges", {})),
    (r"merges\[0\] must be a list of two ids, not 97", put("merges", [97, 98])),
    ("mergeable_vocab_size", put("merges", [])),
    ("mergeable_vocab_size", lambda document: document["merges"].pop()),
    *(
        (r"merges\[0\] must be a list of two ids", put_in("merges", 0, value))
        for value in (
            [97],
            [97, 98, 99],
            [97, True],
            [97, -1],
            [97, 2**32],
            ["97", 98],
            [97, 98.0],
            None,
        )
    ),
    ("merge 0 uses id 256, which no earlier merge makes", put_in("merges", 0, [97, 256])),
    ("merge 13 uses id 270, which no earlier merge makes", put_in("merges", 13, [97, 270])),
    ("is given twice", lambda document: document["merges"].__setitem__(1, document["merges"][0])),
    ("special_tokens must be an object", put("special_tokens", [])),
    (r"special_tokens must be <\|endoftext\|> alone", put("special_tokens", {})),
    (r"special_tokens must be <\|endoftext\|> alone", put_in("special_tokens", "<|x|>", 271)),
    ("special_tokens", put("special_tokens", {"<|x|>": 270})),
    *(
        ("must be 270, not", put_in("special_tokens", END_OF_TEXT_TOKEN, value))
        for value in (271, 5, True, 270.0, "270")
    ),
    ("vocab must be an object", put("vocab", [])),
    ("vocab lacks id 5;", lambda document: document["vocab"].pop("5")),
    ("vocab lacks id 270;", lambda document: document["vocab"].pop("270")),
    ("vocab has id 271;", put_in("vocab", "271", [97])),
    (r"vocab\[5\] is b'a', but must be b'\\x05'", put_in("vocab", "5", [97])),
    (r"vocab\[256\] is b'a', but must be", put_in("vocab", "256", [97])),
    (
        r"vocab\[270\] is b'<|end|>', but must be b'<\|endoftext\|>'",
        put_in("vocab", "270", [*b"<|end|>"]),
    ),
    *(
        (r"vocab\['97'\] must be a list of bytes", put_in("vocab", "97", value))
        for value in ([256], [-1], [97.0], [True], ["a"], "61", 97, None, [[97]])
    ),
    *(
        ("vocab: .* is not an id", put_in("vocab", key, [97]))
        for key in ("05", "-1", "٣", "a", "", str(2**32))
    ),
]


def check_refused(document: dict[str, Any], change: Change, field: str, folder: Path) -> None:
    broken = copy.deepcopy(document)
    change(broken)
    path = folder / "broken.json"
    path.write_text(json.dumps(broken))
    with pytest.raises(ValueError, match=field) as caught:
        Tokenizer.load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(("field", "change"), CHANGES)
def test_a_broken_artifact_is_refused(
    rich: Tokenizer, tmp_path: Path, field: str, change: Change
) -> None:
    check_refused(saved(rich), change, field, tmp_path)


@pytest.mark.parametrize(("field", "change"), CHANGES_OF_SCHEMA_1)
def test_a_broken_artifact_of_schema_1_is_refused(
    tok: Tokenizer, tmp_path: Path, field: str, change: Change
) -> None:
    check_refused(saved(tok), change, field, tmp_path)
    with pytest.raises(ValueError, match=r"broken\.json: "):
        _persistence.load(tmp_path / "broken.json")


@pytest.mark.parametrize("which", ["tok", "rich"])
def test_a_missing_key_is_refused_by_its_name(
    which: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    document = saved(request.getfixturevalue(which))
    for key in document:
        path = tmp_path / "broken.json"
        path.write_text(
            json.dumps({name: value for name, value in document.items() if name != key})
        )
        with pytest.raises(ValueError, match=f"broken.json: {key} is missing"):
            Tokenizer.load(path)
        if which == "tok":
            with pytest.raises(KeyError, match=f"{key} is missing"):
                _persistence.load(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b"{", "not valid JSON"),
        (b"[]", "one JSON object, not a list"),
        (b"null", "it begins with b'null', unlike any file of a tokenizer"),
        (b'{"a": 1, "a": 1}', "'a' appears twice"),
        (b'{"schema_version": NaN}', "NaN"),
        (b'{"schema_version": Infinity}', "Infinity"),
        (b"{\xff\xff}", "not valid UTF-8 at byte 1"),
        (b'{"schema_version": ' + b"9" * 5000 + b"}", "not valid JSON"),
        (b"[" * 200_000, "nested too deeply"),
        (b'\xef\xbb\xbf{"schema_version": 1}', "a byte-order mark"),
    ],
)
def test_what_is_no_json_object_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        Tokenizer.load(path)
    with pytest.raises(ValueError, match=r"broken\.json: "):
        _persistence.load(path)


def test_merges_that_double_without_end_are_refused(rich: Tokenizer, tmp_path: Path) -> None:
    document = saved(rich)
    count = 60
    document["merges"] = [5, 5] + [place for i in range(1, count) for place in (999 + i, 999 + i)]
    document["merge_ids"] = list(range(1000, 1000 + count))
    path = tmp_path / "bomb.json"
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match="have more than"):
        Tokenizer.load(path)


ARTIFACTS = [
    _persistence.artifact_bytes(Tokenizer.train("ab abc abcd", 261).vocabulary),
    _persistence.artifact_bytes(
        Tokenizer.train_from_iterator(
            ["ab abc é"], 264, dialect="cs336", special_tokens=['"merges":[', "é"]
        ).vocabulary
    ),
    _persistence.artifact_bytes(
        Vocabulary(
            {byte: bytes([byte]) for byte in range(256)} | {256: b"abab", 257: b"ab"},
            [(257, 257), (97, 98)],
            irregular=True,
        )
    ),
]


@given(st.sampled_from(ARTIFACTS), st.integers(0, 10**5), st.integers(0, 4), st.binary(max_size=4))
@example(ARTIFACTS[0], 0, 0, b"")
@example(ARTIFACTS[1], 0, 0, b"")
@example(ARTIFACTS[2], 0, 0, b"")
@example(ARTIFACTS[0], ARTIFACTS[0].index(b"[97,98") + 1, 2, b"99")
@example(ARTIFACTS[0], ARTIFACTS[0].index(b"[97,98") + 1, 1, b" 9")
@example(ARTIFACTS[0], ARTIFACTS[0].index(b'"97":[97]') + 6, 2, b"98")
@example(ARTIFACTS[0], ARTIFACTS[0].index(b'"97":[97]') + 6, 2, b"true")
@example(ARTIFACTS[0], ARTIFACTS[0].index(b'"97":[97]') + 1, 2, b"96")
@example(ARTIFACTS[1], ARTIFACTS[1].index(b':"61"') + 2, 2, b"62")
@example(ARTIFACTS[1], ARTIFACTS[1].index(b'"schema_version":2') + 17, 1, b"1")
@example(ARTIFACTS[0], ARTIFACTS[0].index(b'"schema_version":1') + 17, 1, b"2")
def test_lists_that_the_engine_reads_are_those_of_the_whole_file(
    artifact: bytes, place: int, length: int, put: bytes
) -> None:
    place %= len(artifact) + 1
    changed = artifact[:place] + put + artifact[place + length :]

    def outcome() -> object:
        try:
            return _persistence.vocabulary_of(changed, "a.json")
        except (ValueError, KeyError) as refused:
            return repr(refused)

    found = outcome()
    with mock.patch.object(_persistence, "parse_with_lists", parse_object):
        expected = outcome()
    assert found == expected
    if changed == artifact:
        assert isinstance(found, Vocabulary)
        assert _persistence.artifact_bytes(found) == artifact


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda values: st.lists(values) | st.dictionaries(st.text(), values),
)


@pytest.mark.slow
@given(st.dictionaries(st.text(), JSON_VALUES), st.booleans())
def test_json_is_written_as_the_standard_library_writes_it(
    fields: dict[str, Any], ascii_only: bool
) -> None:
    expected = json.dumps(fields, ensure_ascii=ascii_only, sort_keys=True, separators=(",", ":"))
    try:
        content = expected.encode()
    except UnicodeEncodeError:  # half of a pair of surrogates
        return
    assert written(fields, ascii_only=ascii_only) == content


@given(
    st.dictionaries(st.integers(0, LARGEST_ID), st.binary()), st.lists(st.integers(0, LARGEST_ID))
)
def test_the_engine_writes_long_lists_as_the_standard_library_does(
    tokens: dict[int, bytes], numbers: list[int]
) -> None:
    arrays = Arrays.of(tokens)
    lists = {str(token_id): list(token) for token_id, token in tokens.items()}
    hexadecimal = {str(token_id): token.hex() for token_id, token in tokens.items()}
    pairs = [numbers[at : at + 2] for at in range(0, len(numbers) - 1, 2)]
    assert arrays.to_json("lists") == written({"": lists})[4:-1]
    assert arrays.to_json("hexadecimal") == written({"": hexadecimal})[4:-1]
    assert json.loads(arrays.to_json("rows")) == [
        [token_id, token.hex()] for token_id, token in tokens.items()
    ]
    assert numbers_json(array("I", numbers).tobytes()) == written({"": numbers})[4:-1]
    assert (
        pairs_json(array("I", chain.from_iterable(pairs)).tobytes()) == written({"": pairs})[4:-1]
    )


def test_no_token_of_an_artifact_or_a_fingerprint_is_an_object_of_its_own() -> None:
    # With Python's objects, both took 0.6 s for a large vocabulary, before a corpus was encoded.
    for dialect in ("bpetite", "tiktoken"):
        vocabulary = Tokenizer.train(CORPUS, 270, dialect=dialect).vocabulary
        assert _persistence.artifact_bytes(vocabulary)
        assert vocabulary.fingerprint
        assert not {"tokens", "merges", "merge_ids"} & vars(vocabulary).keys()


def test_lists_that_do_not_fit_are_refused() -> None:
    number = array("I", [5]).tobytes()
    with pytest.raises(ValueError, match="even number"):
        pairs_json(number)
    with pytest.raises(ValueError, match="multiple of 4"):
        numbers_json(number[1:])
    with pytest.raises(ValueError, match='form: "none"'):
        tokens_json(b"", b"", b"", "none")  # type: ignore[arg-type]
