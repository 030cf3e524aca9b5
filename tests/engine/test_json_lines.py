"""The engine takes from lines of JSON what `json.loads(line)[field]` gives, and leaves the others to it."""

import io
import json
from collections.abc import Callable, Iterator
from unittest import mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bpetite._engine import FileTexts
from bpetite._internal.types import Invalid
from bpetite.reading import batches, json_lines
from bpetite.reading.batches import decoded
from bpetite.reading.documents import read_batches
from bpetite.reading.options import Reading
from bpetite.reading.sources import Input

INVALID: tuple[Invalid, ...] = ("error", "replace", "skip")
FIELDS = ("text", "", "naïve", "a b", "\udcff")


class LeavesAll:
    """Replaces `FileTexts`: it takes nothing, so that Python reads every line."""

    def __init__(self, field: bytes) -> None:
        self._texts: list[str] = []

    def take_lines(self, block: bytes, start: int) -> tuple[int, int, bytes | None]:
        line, newline, _ = block[start:].partition(b"\n")
        return (start + len(line) + 1, 1, line) if newline else (start, 0, None)

    def append(self, text: str) -> None:
        text.encode()
        self._texts.append(text)

    def __len__(self) -> int:
        return len(self._texts)

    @property
    def size(self) -> int:
        return sum(map(len, self._texts))

    def take(self) -> list[str]:
        texts, self._texts = self._texts, []
        return texts


def batches_read(content: bytes, reading: Reading, block: int) -> Iterator[batches.Batch]:
    """Yield what is read of JSON lines, in blocks of a size."""
    with (
        mock.patch.object(Input, "open", return_value=io.BytesIO(content)),
        mock.patch.object(Input, "size", return_value=None),
        mock.patch.object(batches, "BLOCK", block),
    ):
        yield from read_batches(Input("memory://c.jsonl"), reading)


def read(content: bytes, reading: Reading, block: int = batches.BLOCK) -> object:
    """Return the documents of JSON lines and how many were invalid; or the error."""
    texts: list[str] = []
    affected = before = 0
    try:
        for batch in batches_read(content, reading, block):
            assert batch.first == before
            before += len(batch.texts) + batch.affected * (reading.invalid == "skip")
            texts += decoded("c.jsonl", batch)
            affected += batch.affected
    except (ValueError, RecursionError) as error:
        return type(error), str(error)
    return texts, affected


def read_by_python(content: bytes, reading: Reading) -> object:
    """Return the same, read without the engine."""
    with mock.patch.object(json_lines, "FileTexts", LeavesAll):
        return read(content, reading)


def taken(line: bytes, field: str = "text") -> str | None:
    """Return the text that the engine reads from a line; None if it leaves the line to Python."""
    texts = FileTexts(field.encode("utf-8", "surrogatepass"))
    place, lines, left = texts.take_lines(line + b"\n", 0)
    assert (place, lines) == (len(line) + 1, 1)
    if left is not None:
        assert (left, len(texts)) == (line, 0)
        return None
    return "".join(decoded("", batches.Batch(texts.take())))


strings = st.text(max_size=12) | st.text(
    st.sampled_from('text"\\/\b\f\n\r\t\x00\x7f\x1fé\u2028😀\ud800\udc00'), max_size=40
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | strings,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(FIELDS) | strings, inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def objects(draw: st.DrawFn) -> bytes:
    """Return an object in one of the ways of writing it, with keys that appear twice."""
    dumps = [
        lambda value: json.dumps(value, ensure_ascii=True),
        lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")),
        lambda value: (
            json.dumps(value, ensure_ascii=True).replace("a", "\\u0061").replace("/", "\\/")
        ),
    ]
    space = st.sampled_from(["", "", "", " ", "\t", "\r", "  \t"])
    members = []
    for _ in range(draw(st.integers(0, 4))):
        key = draw(st.sampled_from(FIELDS) | strings)
        value = draw(strings | values)
        written = [draw(st.sampled_from(dumps))(part) for part in (key, value)]
        members.append(":".join(draw(space) + part + draw(space) for part in written))
    line = draw(space) + "{" + ",".join(members) + draw(space) + "}" + draw(space)
    return line.encode("utf-8", "surrogatepass")


@st.composite
def broken(draw: st.DrawFn) -> bytes:
    """Return an object with some bytes changed, removed or inserted."""
    line = draw(objects())
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(line)))
        pieces = [
            b"",
            b"\xff",
            b"\xe9",
            b'"',
            b"\\",
            b"{",
            b"}",
            b"[",
            b",",
            b":",
            b"\x00",
            b"0",
            b"-",
            b"e",
            b"\\u",
            b"\xef\xbb\xbf",
        ]
        line = (
            line[:start] + draw(st.sampled_from(pieces)) + line[start + draw(st.integers(0, 2)) :]
        )
    return line.replace(b"\n", b"")


lines = st.lists(
    objects() | objects() | broken() | st.sampled_from([b"", b" \t\r", b"\x0b", b"null", b"[1]"]),
    max_size=6,
)


@given(
    lines=lines,
    end=st.sampled_from([b"", b"\n"]),
    field=st.sampled_from(FIELDS),
    block=st.integers(1, 80),
)
def test_lines_are_read_as_by_python_alone(
    lines: list[bytes], end: bytes, field: str, block: int
) -> None:
    content = b"\n".join(lines) + end
    for invalid in INVALID:
        reading = Reading(text_field=field, invalid=invalid, input_format="jsonl")
        by_python = read_by_python(content, reading)
        assert read(content, reading) == by_python
        assert read(content, reading, block) == by_python


@given(line=objects() | broken(), field=st.sampled_from(FIELDS))
@example(line=b'{"text": "\\ud800"}', field="text")
def test_what_is_taken_is_what_python_finds(line: bytes, field: str) -> None:
    text = taken(line, field)
    if text:
        assert text == json.loads(line)[field]


@given(line=objects())
def test_what_is_plain_is_taken(line: bytes) -> None:
    try:
        text = json.loads(line.decode())["text"]
        text.encode()
    except (ValueError, KeyError, AttributeError):
        return
    if not has_lone_key(line):
        assert taken(line) == text


def has_lone_key(line: bytes) -> bool:
    """Return whether a key of the object has a lone surrogate, which the engine leaves to Python."""
    keys = json.loads(line, object_pairs_hook=lambda pairs: "".join(key for key, _ in pairs))
    return not keys.isascii() and any("\ud800" <= sign <= "\udfff" for sign in keys)


HOSTILE = [
    b"",
    b"{}",
    b"[]",
    b'"text"',
    b"nan",
    b'{"text"}',
    b'{"text":}',
    b'{"text": "a"',
    b'{"text": "a"}}',
    b'{"text": "a"} {"text": "b"}',
    b'{"text": "a",}',
    b'{,"text": "a"}',
    b'{"text": "a" "n": 1}',
    b"{'text': 'a'}",
    b'{"text": "a", "n": 1 /* no comment */}',
    b'{"text": "a"} // none',
    b'\xef\xbb\xbf{"text": "a"}',
    b'{"text": "\xef\xbb\xbf"}',
    b'{"text": "a\x00b"}',
    b'{"text": "a\tb"}',
    b'{"text": "a\rb"}',
    b'{"te\\u0078t": "a"}',
    b'{"text": "a", "te\\u0078t": "b"}',
    b'{"text": "a", "text": 1}',
    b'{"text": 1, "text": "a"}',
    b'{"text": ["a"], "text": "a"}',
    b'{"o": {"text": "a"}}',
    b'{"o": {"text": "a"}, "text": "b"}',
    b'{"text": "b", "o": [{"text": "a"}]}',
    b'{"text": "\\ud83d\\ude00"}',
    b'{"text": "\\uD83D\\uDE00"}',
    b'{"text": "\\ud83d \\ude00"}',
    b'{"text": "\\ud83d\\u"}',
    b'{"text": "\\ud83d\\ude0"}',
    b'{"text": "\\ud83d\\ud83d\\ude00"}',
    b'{"text": "\\ude00\\ud83d"}',
    b'{"o": "\\ud83d", "text": "a"}',
    b'{"\\ud83d": 1, "text": "a"}',
    b'{"text": "\xed\xa0\x80"}',
    b'{"text": "\xf4\x90\x80\x80"}',
    b'{"text": "\xc0\x80"}',
    b'{"text": "a"}\xff',
    b'{"\xff": 1, "text": "a"}',
    b'{"text": "\\u00e"}',
    b'{"text": "\\u00eg"}',
    b'{"text": "\\u+123"}',
    b'{"text": "\\u 123"}',
    b'{"text": "\\U0041"}',
    b'{"text": "\\x41"}',
    b'{"text": "\\0"}',
    b'{"text": "\\\n',
    b'{"text": "\\',
    b'{"text": "a", "n": NaN}',
    b'{"text": "a", "n": -NaN}',
    b'{"text": "a", "n": [Infinity, -Infinity]}',
    b'{"text": "a", "n": +Infinity}',
    b'{"text": "a", "n": -Inf}',
    b'{"text": "a", "n": 01}',
    b'{"text": "a", "n": -01}',
    b'{"text": "a", "n": -0}',
    b'{"text": "a", "n": 1.}',
    b'{"text": "a", "n": .1}',
    b'{"text": "a", "n": 1e}',
    b'{"text": "a", "n": 1e+}',
    b'{"text": "a", "n": 1E-05}',
    b'{"text": "a", "n": 1e999999}',
    b'{"text": "a", "n": 0x10}',
    b'{"text": "a", "n": 1_000}',
    '{"text": "a", "n": ١}'.encode(),
    b'{"text": "a", "n": ' + b"1" * 5000 + b"}",
    b'{"text": "a", "n": 1.' + b"1" * 5000 + b"}",
    b'{"text": "a", "n": True}',
    b'{"text": "a", "n": undefined}',
    b'{"text": "a", "n": nullnull}',
    b'{"text": "a", "n": ' + b"[" * 100 + b"]" * 100 + b"}",
    b'{"text": "a", "n": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    b'{"text": "a", "n": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}",
    b'{"text": "a", "n": [1, 2}',
    b'{"text": "a", "n": {"a": 1]}',
    '{"text":\u00a0"a"}'.encode(),
    b'{"text":\x0c"a"}',
    b'\x0c{"text": "a"}',
    b'{"text": "' + b"a" * 70 + b'\\"' + b"b" * 70 + b'\x1f"}',
]


@pytest.mark.parametrize("line", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_lines_are_read_as_by_python_alone(line: bytes) -> None:
    content = b'{"text": "before"}\n' + line + b'\n{"text": "behind"}'
    for invalid in INVALID:
        reading = Reading(invalid=invalid, input_format="jsonl")
        by_python = read_by_python(content, reading)
        for block in (3, batches.BLOCK):
            assert read(content, reading, block) == by_python


def test_every_escape_is_what_python_reads() -> None:
    for second in range(256):
        line = b'{"text": "a\\' + bytes([second]) + b'"}'
        try:
            text = json.loads(line)["text"]
        except ValueError:
            text = None
        assert taken(line.replace(b"\n", b"\r")) == (None if second == 10 else text)
    for code in range(0x10000):
        line = b'{"text": "a\\u%04x", "n": "\\u%04X"}' % (code, code)
        text = json.loads(line)["text"]
        assert taken(line) == (None if 0xD800 <= code < 0xE000 else text)


def test_every_code_point_is_what_python_reads() -> None:
    codes = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    for start in range(0, len(codes), 1000):
        text = "".join(map(chr, codes[start : start + 1000]))
        for as_ascii in (False, True):
            assert taken(json.dumps({"text": text}, ensure_ascii=as_ascii).encode()) == text


def test_special_characters_are_found_at_every_place() -> None:
    for length in range(150):
        text = "x" * length
        for special in ('"', "\\", "\n", "é", "\u2028", "😀"):
            for place in range(0, length + 1, 1 + length // 20):
                whole = text[:place] + special + text[place:]
                assert taken(json.dumps({"text": whole}, ensure_ascii=False).encode()) == whole
        assert taken(b'{"text": "%s\x1f"}' % text.encode()) is None


def test_texts_stay_what_they_are_while_more_are_gathered() -> None:
    found = FileTexts(b"text")
    held = []
    for number in range(20):
        texts = [f"{number} {place}" * place for place in range(number % 7)]
        found.take_lines("".join(json.dumps({"text": text}) + "\n" for text in texts).encode(), 0)
        found.append(f"last {number}")
        assert len(found) == len(texts) + 1
        assert found.size >= sum(map(len, texts))
        held.append((found.take(), [*texts, f"last {number}"]))
        if number % 3 == 0:
            del held[0]
    for joined, texts in held:
        assert [bytes(text).decode() for text in joined] == texts
    assert len(found.take()) == found.size == 0


def test_only_text_can_be_appended() -> None:
    appended: Callable[[str], None] = FileTexts(b"text").append
    with pytest.raises(UnicodeEncodeError):
        appended("\ud800")
