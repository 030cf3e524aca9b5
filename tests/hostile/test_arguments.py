"""Arguments of wrong types: every door refuses them alike, and names the argument and what it takes."""

import json
import mmap
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

from bpetite import Counts, Tokenizer, Vocabulary, corpus, symbols
from bpetite._internal.progress import Shown
from bpetite.vocabulary import MARK

TEXT = "the cat sat on the mat, the cat sat on the hat"
TRAINED = Tokenizer.train(TEXT, 270)
COUNTS = Counts.from_iterator([TEXT])


def of_vocabulary(**changes: Any) -> Tokenizer:
    """A tokenizer whose texts are changed before they are encoded."""
    vocabulary = TRAINED.vocabulary
    return Tokenizer(Vocabulary(vocabulary.tokens, vocabulary.merges, {"<|x|>": 270}, **changes))


def of_file(folder: Path) -> Tokenizer:
    """A tokenizer read from a `tokenizer.json` with a normalizer, as Qwen's."""
    path = folder / "tokenizer.json"
    TRAINED.to_huggingface(path)
    document = json.loads(path.read_text())
    document["normalizer"] = {"type": "NFC"}
    path.write_text(json.dumps(document))
    return Tokenizer.load(path)


PUTS_SPACE = [("Prepend", " "), ("Replace", MARK, " ")]

TOKENIZERS: dict[str, Callable[[Path], Tokenizer]] = {
    "trained": lambda _: TRAINED,
    "of a tokenizer.json with a normalizer": of_file,
    "with flags": lambda _: of_vocabulary(token_flags={"<|x|>": ["lstrip", "single_word"]}),
    "that drops a space": lambda _: of_vocabulary(normalization=PUTS_SPACE, drops_space=True),
    "that drops spaces": lambda _: of_vocabulary(normalization=PUTS_SPACE, drops_space="all"),
}


@pytest.fixture(params=TOKENIZERS)
def tokenizer(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return TOKENIZERS[request.param](tmp_path)


# --- Texts
# ------------------------------------------------------------------------------------------------

NO_TEXTS = [
    123,
    0,
    10**9,
    -1,
    2**80,
    True,
    None,
    1.5,
    np.int64(5),
    np.array([1]),
    np.array("a"),
    {"a"},
    object(),
]

TAKES_TEXT: dict[str, Callable[[Any, Any], object]] = {
    "encode": lambda t, x: t.encode(x),
    "encode as text": lambda t, x: t.encode(x, "text"),
    "encode or refuse": lambda t, x: t.encode(x, special="error"),
    "encode_ordinary": lambda t, x: t.encode_ordinary(x),
    "encode_to_numpy": lambda t, x: t.encode_to_numpy(x),
    "encode_to_numpy on threads": lambda t, x: t.encode_to_numpy(x, dtype="uint16", num_threads=2),
    "encode_with_offsets": lambda t, x: t.encode_with_offsets(x),
    "encode_iterable": lambda t, x: list(t.encode_iterable(["a", x])),
    "growing": lambda t, x: t.growing(x),
    "append": lambda t, x: t.growing("a").append(x),
    "append to a transcript": lambda t, x: t.transcript().append(x),
    "join": lambda t, x: t.join([97], x),
    "count": lambda t, x: t.count(x),
    "count on threads": lambda t, x: t.count(x, num_threads=2),
    "fit": lambda t, x: t.fit(x, 3),
    "fit or refuse": lambda t, x: t.fit(x, 3, side="left", special="error"),
    "chunks": lambda t, x: t.chunks(x, 3),
    "show": lambda t, x: t.show(x),
    "pretokens": lambda t, x: t.pretokens(x),
}


@pytest.mark.parametrize("name", TAKES_TEXT)
def test_what_is_no_text_is_refused_by_every_method_of_every_tokenizer(
    tokenizer: Any, name: str
) -> None:
    for wrong in NO_TEXTS:
        with pytest.raises(TypeError) as refused:
            TAKES_TEXT[name](tokenizer, wrong)
        assert str(refused.value) == f"text must be a str, not {type(wrong).__name__}"


@pytest.mark.parametrize("name", TAKES_TEXT)
def test_what_is_no_text_is_told_what_to_do_instead(tokenizer: Any, name: str) -> None:
    with pytest.raises(TypeError, match=re.escape('not bytes: give text.decode("utf-8")')):
        TAKES_TEXT[name](tokenizer, b"a")
    for several in (["a"], ("a",)):
        with pytest.raises(TypeError, match="encode_batch and count_batch take several texts"):
            TAKES_TEXT[name](tokenizer, several)


def test_a_str_of_another_class_is_a_text(tokenizer: Any) -> None:
    text = np.str_("the cat")
    assert tokenizer.encode(text) == tokenizer.encode("the cat")
    assert tokenizer.encode_batch(np.array(["the cat"])) == [tokenizer.encode("the cat")]


TAKES_TEXTS: dict[str, Callable[[Any, Any], object]] = {
    "encode_batch": lambda t, x: t.encode_batch(x),
    "encode_batch_to_numpy": lambda t, x: t.encode_batch_to_numpy(x),
    "count_batch": lambda t, x: t.count_batch(x, num_threads=2),
}


@pytest.mark.parametrize("name", TAKES_TEXTS)
def test_what_are_no_texts_is_refused_by_every_method_of_every_tokenizer(
    tokenizer: Any, name: str
) -> None:
    for wrong in (5, None, True, 1.5, np.int64(5), object()):
        with pytest.raises(TypeError, match=r"^texts must be an iterable of str or bytes, not "):
            TAKES_TEXTS[name](tokenizer, wrong)
    for item in (5, None, True, np.int64(5), ["a"], bytearray(b"a")):
        message = f"^texts: item 1 must be str or bytes, not {type(item).__name__}$"
        for wrong in (["a", item], ("a", item), iter(["a", item])):
            with pytest.raises(TypeError, match=message):
                TAKES_TEXTS[name](tokenizer, wrong)
    for array in (np.array([1, 2]), np.array([1.5]), pyarrow.array([1])):
        with pytest.raises(
            TypeError,
            match=r"^(texts: item 0|the column) must (be str|hold strings) or bytes, not ",
        ):
            TAKES_TEXTS[name](tokenizer, array)


def changeable_buffers() -> Iterator[Any]:
    """Buffers of UTF-8 that Python code or another process can change while they are read."""
    yield bytearray(b"the cat")
    yield memoryview(bytearray(b"the cat"))
    yield memoryview(b"the cat")  # a view of bytes may be one of anything
    yield np.frombuffer(bytearray(b"the cat"), np.uint8)
    mapped = mmap.mmap(-1, 7)
    mapped.write(b"the cat")
    yield mapped


def test_memory_that_can_change_is_no_text(tokenizer: Any) -> None:
    """The engine checks once that a text is UTF-8, and reads it without Python's lock."""
    for buffer in changeable_buffers():
        refused = pytest.raises(TypeError, match=f"not {type(buffer).__name__}")
        for take_text in TAKES_TEXT.values():
            with refused:
                take_text(tokenizer, buffer)
        for take_texts in TAKES_TEXTS.values():
            with refused:
                take_texts(tokenizer, [buffer])
        with refused:
            Counts.from_iterator([buffer])


# --- Words for arguments
# ----------------------------------------------------------------------------------

TAKES_SPECIAL: dict[str, Callable[[Any, Any], object]] = {
    "encode": lambda t, x: t.encode("a", special=x),
    "encode_batch": lambda t, x: t.encode_batch(["a"], special=x),
    "encode_to_numpy": lambda t, x: t.encode_to_numpy("a", special=x),
    "encode_batch_to_numpy": lambda t, x: t.encode_batch_to_numpy(["a"], special=x),
    "encode_iterable": lambda t, x: t.encode_iterable(["a"], special=x),
    "encode_with_offsets": lambda t, x: t.encode_with_offsets("a", special=x),
    "growing": lambda t, x: t.growing("a", special=x),
    "transcript": lambda t, x: t.transcript(special=x),
    "join": lambda t, x: t.join([97], "a", x),
    "count": lambda t, x: t.count("a", special=x),
    "count_batch": lambda t, x: t.count_batch(["a"], special=x),
    "fit": lambda t, x: t.fit("a", 3, special=x),
    "chunks": lambda t, x: t.chunks("a", 3, special=x),
    "show": lambda t, x: t.show("a", special=x),
}


@pytest.mark.parametrize("name", TAKES_SPECIAL)
def test_special_takes_one_of_three_words(tokenizer: Any, name: str) -> None:
    for wrong in ({"<|x|>"}, None, 1, True, b"parse", "all", ""):
        kind = ValueError if isinstance(wrong, str) else TypeError
        shown = json.dumps(wrong) if isinstance(wrong, str) else repr(wrong)
        with pytest.raises(kind) as refused:
            TAKES_SPECIAL[name](tokenizer, wrong)
        assert str(refused.value) == f"special: must be parse, text or error, not {shown}"


# --- Ids
# --------------------------------------------------------------------------------------------------


class Index:
    """An integer of an unknown type."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __index__(self) -> int:
        return self._number


def numbers_of(ids: list[int]) -> Iterator[object]:
    """The same ids in every form that an iterable of integers may have."""
    yield ids
    yield tuple(ids)
    yield iter(ids)
    yield (number for number in ids)
    yield dict.fromkeys(ids)
    yield map(np.int64, ids)
    yield list(map(Index, ids))
    for kind in (np.uint16, np.int64, np.uint32):
        yield np.array(ids, kind)
        yield iter(np.array(ids, kind))


def test_ids_are_any_iterable_of_integers(tokenizer: Any) -> None:
    ids = [32, 97, 257, 98]
    text, content = tokenizer.decode(ids), tokenizer.decode_bytes(ids)
    assert content == text.encode()
    assert [tokenizer.decode(given) for given in numbers_of(ids)] == [text] * 13
    assert [tokenizer.decode_bytes(given) for given in numbers_of(ids)] == [content] * 13
    assert tokenizer.decode_batch(numbers_of(ids)) == [text] * 13
    for given in numbers_of(ids):
        stream = tokenizer.decode_stream()
        assert stream.push(given) + stream.finish() == text


class Shortening(Index):
    """An integer that takes the last items of a list when it is read."""

    def __init__(self, number: int, ids: list[object], kept: int) -> None:
        super().__init__(number)
        self._ids, self._kept = ids, kept

    def __index__(self) -> int:
        del self._ids[self._kept :]
        return super().__index__()


@pytest.mark.parametrize("kept", [0, 1, 2, 3, 4])
def test_a_list_may_change_while_its_ids_are_read(tokenizer: Any, kept: int) -> None:
    ids: list[object] = [32, 97]
    ids += [Shortening(98, ids, kept), 32, 97]
    read = [32, 97, 98, 32, 97][: max(3, kept)]
    assert tokenizer.decode(ids) == tokenizer.decode(read)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (-1, KeyError),
        (2**32, KeyError),
        (2**70, KeyError),
        (True, TypeError),
        (1.0, TypeError),
        ("a", TypeError),
    ],
)
def test_a_wrong_id_is_refused_wherever_it_is_in_a_list(
    tokenizer: Any, wrong: Any, error: Any
) -> None:
    for ids in ([wrong], [32, wrong], [wrong, 32], [Index(32), wrong, 97]):
        with pytest.raises(error):
            tokenizer.decode(ids)


@pytest.mark.parametrize("kind", [int, np.int64, np.uint16, Index])
def test_a_stream_takes_one_id_of_any_integer_type(
    tokenizer: Any, kind: Callable[[int], Any]
) -> None:
    stream = tokenizer.decode_stream()
    assert "".join(stream.push(kind(number)) for number in [97, 98]) + stream.finish() == "ab"


def test_what_are_no_ids_is_refused(tokenizer: Any) -> None:
    wrong: Any
    for decode in (
        tokenizer.decode,
        tokenizer.decode_bytes,
        lambda ids: tokenizer.decode_batch([ids]),
    ):
        for wrong in (5, np.int64(5), Index(5)):
            with pytest.raises(TypeError, match=r"^ids must be an iterable of integers: give \["):
                decode(wrong)
        for wrong in (None, 1.5, object(), True):
            with pytest.raises(TypeError, match=r"^ids must be an iterable of integers, not "):
                decode(wrong)
        for wrong in (
            "ab",
            ["a"],
            [1.5],
            [None],
            [True],
            [[97]],
            np.array([1.5]),
            np.array(5),
            np.array([[97]]),
        ):
            with pytest.raises(TypeError, match=r"^ids"):
                decode(wrong)
    for wrong in (None, 1.5, True, "ab", [True], np.array([1.5])):
        with pytest.raises(TypeError, match=r"^ids"):
            tokenizer.decode_stream().push(wrong)
    with pytest.raises(TypeError, match=r"^batch must be an iterable of lists of ids, not int$"):
        tokenizer.decode_batch(5)


# --- Everything else
# --------------------------------------------------------------------------------------

WRONG: dict[str, tuple[Callable[[Any], object], list[Any], list[Any]]] = {
    "corpus": (lambda x: Tokenizer.train(x, 270), [5, None, b"a", ["a"]], []),
    "documents": (Counts.from_iterator, [5, None, "a", b"a", [5], [None], iter([5])], []),
    "vocab_size": (
        lambda x: Tokenizer.train(TEXT, x),
        ["270", 270.0, True, None],
        [255, -1, np.int64(9)],
    ),
    "counts": (lambda x: Tokenizer.train_from_counts(x, 270), [5, None, {b"a": 1}], []),
    "dialect": (lambda x: Counts(dialect=x), [5, None, ["cs336"]], ["cs337", ""]),
    "pattern": (lambda x: Counts(pattern=x), [5, None, b"gpt2", [b"gpt2"]], ["gpt3", "(", []]),
    "special_tokens": (
        lambda x: Tokenizer.train_from_counts(COUNTS, 270, special_tokens=x),
        [5, "<x>", {"<x>"}, {"<x>": 1}, [5], [b"<x>"], [None]],
        [[""], ["<x>", "<x>"]],
    ),
    "min_count": (
        lambda x: Tokenizer.train_from_counts(COUNTS, 270, min_count=x),
        ["1", 1.5, True],
        [0],
    ),
    "memory_limit": (
        lambda x: Counts.from_iterator(["a"], memory_limit=x),
        [1.5, True],
        [0, "1XB"],
    ),
    "num_threads": (
        lambda x: TRAINED.encode_batch(["a"], num_threads=x),
        ["1", 1.5, True],
        [0, -1],
    ),
    "progress": (lambda x: Counts.from_iterator(["a"], progress=x), [5, "yes"], []),
    "paths": (Counts.from_files, [5, None, [5], [None]], [[]]),
    "max_tokens": (lambda x: TRAINED.fit("a", x), ["1", 1.5, None, True], [-1]),
    "side": (lambda x: TRAINED.fit("a", 1, side=x), [5, None, {"left"}], ["top"]),
    "size": (lambda x: TRAINED.chunks("a", x), ["1", 1.5, None, True], [0]),
    "overlap": (lambda x: TRAINED.chunks("a", 3, overlap=x), ["1", 1.5, None, True], [-1, 3]),
    "add": (lambda x: TRAINED.extend(["a"], x), ["1", 1.5, None], [-1]),
    "token": (TRAINED.token_id, [5, None, ["a"]], []),
    "samples": (lambda x: corpus.verify("missing", samples=x), ["1", 1.5, None], [-1]),
    "shard_size": (lambda x: corpus.Options(shard_size=x), ["1", 1.5, None], [0]),
    "num_merges": (lambda x: symbols.train_bpe([["a"]], x), ["1", 1.5, None], []),
}


@pytest.mark.parametrize("argument", WRONG)
def test_a_wrong_type_is_a_type_error_and_a_wrong_value_a_value_error_that_names_it(
    argument: str,
) -> None:
    call, types, values = WRONG[argument]
    for kind, given in [(TypeError, types), (ValueError, values)]:
        for wrong in given:
            with pytest.raises(kind) as refused:
                call(wrong)
            assert argument in str(refused.value).replace("special token ", "special_tokens: "), (
                wrong
            )


class Unread:
    """Documents that must not be read."""

    def __iter__(self) -> Any:
        raise AssertionError("it was read")


UNREAD = corpus.Documents(Unread())


def encoded_corpus(**options: Any) -> object:
    return corpus.encode(TRAINED, UNREAD, "never-written", options=corpus.Options(**options))


OF_CORPORA: dict[str, tuple[str, Callable[[Any], object], list[Any], list[Any]]] = {
    "encode": (
        "tokenizer",
        lambda x: corpus.encode(x, UNREAD, "never-written"),
        ["tok.json", None],
        [],
    ),
    "stats": (
        "tokenizer",
        lambda x: corpus.stats(x, UNREAD),
        ["tok.json", None, {"a": TRAINED}],
        [],
    ),
    "count_tokens": ("tokenizer", lambda x: corpus.count_tokens(x, UNREAD), ["tok.json", None], []),
    "encode_column": (
        "tokenizer",
        lambda x: corpus.encode_column(x, "a", "b"),
        ["tok.json", None],
        [],
    ),
    "compare": (
        "tokenizer",
        lambda x: corpus.compare(x, UNREAD),
        ["tok.json", None, TRAINED, [TRAINED], {"a": "tok.json"}],
        [{}],
    ),
    "options": (
        "options",
        lambda x: corpus.encode(TRAINED, UNREAD, "never-written", options=x),
        [{}, "npy", 5, corpus.Reading()],
        [],
    ),
    "reading of options": (
        "reading",
        lambda x: encoded_corpus(reading=x),
        [{}, "text", 5, None],
        [],
    ),
    "special of options": ("special", lambda x: encoded_corpus(special=x), [5, None], ["all", ""]),
    "dtype of options": (
        "dtype",
        lambda x: encoded_corpus(dtype=x),
        [5, None, np.uint16],
        ["int64", ""],
    ),
    "format of options": ("format", lambda x: encoded_corpus(format=x), [5, None], ["csv"]),
    "special": (
        "special",
        lambda x: corpus.stats(TRAINED, UNREAD, special=x),
        [5, None],
        ["all", ""],
    ),
    "special of counting": (
        "special",
        lambda x: corpus.count_tokens(TRAINED, UNREAD, special=x),
        [5, None],
        ["all", ""],
    ),
    "special of comparing": (
        "special",
        lambda x: corpus.compare({"a": TRAINED}, UNREAD, special=x),
        [5, None],
        ["all", ""],
    ),
    "reading": ("reading", lambda x: corpus.stats(TRAINED, UNREAD, reading=x), [{}, "text", 5], []),
    "special of a column": (
        "special",
        lambda x: corpus.encode_column(TRAINED, "unread", "b", special=x),
        [5, None],
        ["all"],
    ),
    "dtype of a column": (
        "dtype",
        lambda x: corpus.encode_column(TRAINED, "unread", "b", dtype=x),
        [5, None, np.uint16],
        ["int32"],
    ),
    "nulls of a column": (
        "nulls",
        lambda x: corpus.encode_column(TRAINED, "unread", "b", nulls=x),
        [5, None],
        ["skip"],
    ),
}


@pytest.mark.parametrize("case", OF_CORPORA)
def test_arguments_of_corpora_are_checked_before_anything_is_read(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    argument, call, types, values = OF_CORPORA[case]
    for kind, given in [(TypeError, types), (ValueError, values)]:
        for wrong in given:
            with pytest.raises(kind) as refused:
                call(wrong)
            assert str(refused.value).startswith(argument), wrong
    assert not Path("never-written").exists()


TAKES_PROGRESS: dict[str, Callable[[Path, Any], object]] = {
    "Counts.from_files": lambda folder, x: Counts.from_files(folder / "a.txt", progress=x),
    "Counts.from_iterator": lambda _, x: Counts.from_iterator([TEXT], progress=x),
    "Counts.load": lambda folder, x: Counts.load(folder / "c.parquet", progress=x),
    "train_from_files": lambda folder, x: Tokenizer.train_from_files(
        folder / "a.txt", 270, progress=x
    ),
    "train_from_iterator": lambda _, x: Tokenizer.train_from_iterator([TEXT], 270, progress=x),
    "train_from_counts": lambda _, x: Tokenizer.train_from_counts(COUNTS, 270, progress=x),
    "extend": lambda _, x: TRAINED.extend([TEXT * 2], 3, progress=x),
    "encode": lambda folder, x: corpus.encode(
        TRAINED, folder / "a.txt", folder / "ids", progress=x
    ),
    "stats": lambda folder, x: corpus.stats(TRAINED, folder / "a.txt", progress=x),
    "compare": lambda folder, x: corpus.compare({"a": TRAINED}, folder / "a.txt", progress=x),
    "verify": lambda folder, x: corpus.verify(folder / "old", progress=x),
}


@pytest.mark.parametrize("name", TAKES_PROGRESS)
def test_everything_that_takes_progress_takes_the_same(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    COUNTS.save(tmp_path / "c.parquet")
    corpus.encode(TRAINED, tmp_path / "a.txt", tmp_path / "old")
    shown: list[str] = []
    monkeypatch.setattr(Shown, "__call__", lambda _, stage, done, total: shown.append(stage))
    called: list[str] = []
    for progress in (True, False, None, lambda stage, done, total: called.append(stage)):
        shutil.rmtree(tmp_path / "ids", ignore_errors=True)
        TAKES_PROGRESS[name](tmp_path, progress)
    assert shown
    assert sorted(set(shown)) == sorted(set(called))
    shutil.rmtree(tmp_path / "ids", ignore_errors=True)
    with pytest.raises(TypeError, match="progress must be a function"):
        TAKES_PROGRESS[name](tmp_path, 5)


@pytest.mark.parametrize("measure", [corpus.stats, corpus.count_tokens, corpus.compare])
def test_a_keyword_that_measuring_does_not_know_is_refused(measure: Any, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    tokenizers = {"a": TRAINED} if measure is corpus.compare else TRAINED
    with pytest.raises(TypeError, match="unexpected keyword argument 'threads'"):
        measure(tokenizers, tmp_path / "a.txt", threads=2)
