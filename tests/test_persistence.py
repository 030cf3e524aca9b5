"""Artifacts: the same state is the same bytes, saving is whole or not at all, loading checks everything."""

import copy
import json
import os
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bpetite import Dialect, Tokenizer, Vocabulary, _persistence
from bpetite._constants import PRETOKENIZER_PATTERN, SCHEMA_VERSION, UNICODE_VERSION
from bpetite._internal.json import parse_object, written
from bpetite._trainer import train_bpe
from bpetite.dialect import DIALECTS

CORPUS = "the cat sat on the mat, the bat sat on the hat; naïve cafés"


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return Tokenizer.train(CORPUS, 270)


@pytest.fixture(scope="module")
def rich() -> Tokenizer:
    """A tokenizer with rules of its own."""
    return Tokenizer.train_from_iterator(
        [CORPUS], 300, dialect="huggingface", pattern=r"\w+|\W", special_tokens=["<a>", "<b>"], min_count=2
    )


def saved(tokenizer: Tokenizer) -> dict[str, Any]:
    document = json.loads(_persistence.artifact_bytes(tokenizer.vocabulary))
    assert isinstance(document, dict)
    return document


def test_an_artifact_is_compact_sorted_json(tok: Tokenizer, tmp_path: Path) -> None:
    tok.save(tmp_path / "tok.json")
    content = (tmp_path / "tok.json").read_bytes()
    document = json.loads(content)
    assert list(document) == sorted(_persistence._KEYS)
    assert document["schema_version"] == SCHEMA_VERSION == 1
    assert document["pattern"] == PRETOKENIZER_PATTERN
    assert document["tokens"] == {str(byte): f"{byte:02x}" for byte in range(256)}
    assert document["merge_ids"] == list(range(256, 256 + len(tok.merges)))
    assert document["merges"] == [part for pair in tok.merges for part in pair]
    canonical = json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    assert content == canonical.encode("utf-8")


def test_the_same_state_is_the_same_bytes(tok: Tokenizer, tmp_path: Path) -> None:
    tok.save(tmp_path / "a.json")
    Tokenizer.load(tmp_path / "a.json").save(tmp_path / "b.json")
    result = train_bpe(CORPUS, 270)
    tokens = {place: token for place, token in result.vocab.items() if place < 270}
    _persistence.save_vocabulary(
        tmp_path / "c.json", Vocabulary(tokens, result.merges, result.special_tokens)
    )
    contents = {(tmp_path / name).read_bytes() for name in ("a.json", "b.json", "c.json")}
    assert len(contents) == 1


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
def test_save_puts_no_file_in_the_place_of_a_pipe_or_a_device(tok: Tokenizer, tmp_path: Path) -> None:
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
    ("schema_version", put("schema_version", 2)),
    ("schema_version", put("schema_version", True)),
    ("schema_version", put("schema_version", "1")),
    ("schema_version", put("schema_version", 1.0)),
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
    ("merges", lambda document: document["merges"].pop()),
    ("merge 0 is made of id 1000000", put_in("merges", 0, 10**6)),
    ("merges", put_in("merges", 0, -1)),
    ("merges", put_in("merges", 0, 10**30)),
    ("merge_ids", lambda document: document["merge_ids"].pop()),
    (r"merge \d+ (makes|is made of id)", put_in("merge_ids", 0, 5)),
    ("special_tokens", put_in("special_tokens", "<a>", 5.5)),
    ("id 5", put_in("special_tokens", "<a>", 5)),
    ("special", put_in("special_tokens", "", 100_000)),
    ("the base tokens lack byte", lambda document: document["tokens"].pop("5")),
    ("two ids", put_in("tokens", "100000", "61")),
    ("empty", put_in("tokens", "100000", "")),
    ("tokens", put("tokens", [])),
    *(("tokens", put_in("tokens", key, "61")) for key in ("05", "-1", "٣", "9" * 5000, str(2**32))),
    *(("tokens", put_in("tokens", "100000", value)) for value in ("6", "6G", "6A", [97], None)),
    (r"merge \d+ is made of id|lacks|token 262", put_in("tokens", "262", "6162")),
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


def check_refused(document: dict[str, Any], change: Change, field: str, folder: Path) -> None:
    broken = copy.deepcopy(document)
    change(broken)
    path = folder / "broken.json"
    path.write_text(json.dumps(broken))
    with pytest.raises(ValueError, match=field) as caught:
        Tokenizer.load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(("field", "change"), CHANGES)
def test_a_broken_artifact_is_refused(rich: Tokenizer, tmp_path: Path, field: str, change: Change) -> None:
    check_refused(saved(rich), change, field, tmp_path)


@pytest.mark.parametrize("which", ["tok", "rich"])
def test_a_missing_key_is_refused_by_its_name(
    which: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    document = saved(request.getfixturevalue(which))
    for key in document:
        path = tmp_path / "broken.json"
        path.write_text(json.dumps({name: value for name, value in document.items() if name != key}))
        with pytest.raises(ValueError, match=key):
            Tokenizer.load(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b"{", "not valid JSON"),
        (b"[]", "one JSON object, not a list"),
        (b"null", "it begins with b'null', as no file of a tokenizer does"),
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
@example(ARTIFACTS[0], ARTIFACTS[0].index(b'"97":"61"') + 6, 2, b"62")
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


@given(JSON_VALUES)
def test_json_is_written_as_the_standard_library_writes_it(value: object) -> None:
    assert written(value) == json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
