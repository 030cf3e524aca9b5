"""The engine's streams of ids return what is specified, and what fails changes nothing."""

from __future__ import annotations

import codecs
import copy
import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import Tokenizer, _engine
from bpetite._constants import CLEANED
from bpetite._internal.arguments import UnknownTokenError
from bpetite.patterns import PATTERNS
from bpetite.specification.decode_stream import DecodeStream

WORDS = [b"  ", b" a", b"ab", b" \xe6\x97", b"\xa5b", b"\xf0\x9f\x98\x80", b" .", b"do", b" n't"]
ENDS = [b"a\xff", b"\xe6\xff", b"  \xff"]
STARTS = [b"\xfea", b"\xfe\xe6"]
UNKNOWN, FIRST, SPECIAL, EMPTY = 99_999, 1000, 2000, 2001
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "without a first space": {"spaces": "one"},
    "without all first spaces": {"spaces": "all"},
    "a space at the end of words": {"word_end": " "},
    "an end of words": {"word_end": "</w>"},
    "words with spaces between them": {"spaced": True},
    "words of pieces": {"spaced": True, "word_start": "##", "glued": "##", "cleaned": CLEANED},
}


def encoder_of(kind: str) -> _engine.Encoder:
    more = KINDS[kind]
    tokens = [*WORDS]
    tokens += ENDS if "word_end" in more else []
    tokens += STARTS if "word_start" in more else []
    spelled = {**{byte: bytes([byte]) for byte in range(256)}, **dict(enumerate(tokens, FIRST))}
    return _engine.Encoder(
        pattern=PATTERNS["none"],
        tokens=b"".join(spelled.values()),
        ends=np.cumsum([*map(len, spelled.values())], dtype=np.uint64).tobytes(),
        ids=np.array(list(spelled), np.uint32).tobytes(),
        merges=b"",
        added_tokens=[("<s>", SPECIAL, ["special"])],
        decode_only=[(EMPTY, b"")],
        **more,
    )


ENCODERS = {kind: encoder_of(kind) for kind in KINDS}


def skipping(error: UnicodeError) -> tuple[str, int]:
    """Replace a byte that is no text, and the byte behind it."""
    assert isinstance(error, UnicodeDecodeError)
    return "<?>", min(error.end + 1, len(error.object))


def replacing_all(error: UnicodeError) -> tuple[str, int]:
    """Put other bytes where the text was, and go on with them."""
    assert isinstance(error, UnicodeDecodeError)
    error.object = b"new text"
    return "", 0


codecs.register_error("bpetite-tests-skipping", skipping)
codecs.register_error("bpetite-tests-replacing", replacing_all)
HANDLERS = ["strict", "replace", "ignore", "backslashreplace", "surrogateescape"]
HANDLERS += ["bpetite-tests-skipping", "bpetite-tests-replacing"]

some_ids = st.one_of(
    st.sampled_from([97, 32, 0xE6, 0x97, 0xA5, 0xFF, 0xF0, SPECIAL, EMPTY, UNKNOWN]),
    st.integers(FIRST, FIRST + len(WORDS) + len(ENDS)),
    st.integers(0, 255),
)
pushes = st.lists(st.lists(some_ids, max_size=4), max_size=9)


def outcome(call: Callable[..., Any], *arguments: Any) -> object:
    """What a call returns, or its error with all that it says."""
    try:
        return call(*arguments)
    except (UnicodeDecodeError, KeyError) as error:
        return type(error), error.args


@pytest.mark.parametrize("kind", KINDS)
@given(pushed=pushes, errors=st.sampled_from(HANDLERS), skipped=st.sampled_from([set(), {SPECIAL}]))
def test_streams_return_the_pieces_that_are_specified(
    kind: str, pushed: list[list[int]], errors: str, skipped: set[int]
) -> None:
    encoder = ENCODERS[kind]
    specified = DecodeStream(encoder.decode_bytes, errors, skipped)
    stream = encoder.decode_stream(errors, skipped)
    streams = encoder.decode_streams(errors, skipped)
    others, slot = streams.open([0xE6]), streams.open()
    untouched = encoder.decode_stream(errors, skipped)
    untouched.push([0xE6])
    pieces = []
    for ids in pushed:
        expected = outcome(specified.push, ids)
        copied = copy.copy(stream)
        assert outcome(stream.push, ids[0] if len(ids) == 1 else ids) == expected
        assert outcome(copied.push, np.array(ids, np.uint32)) == expected
        if isinstance(expected, str):
            several = streams.step([slot] * len(ids), ids)
            pieces.append((expected, "".join(several)))
        else:  # The stream is as before, and so is the slot: each id alone may be right, too.
            with pytest.raises((KeyError, UnicodeDecodeError)):
                streams.step([others, *[slot] * len(ids)], [0x97, *ids])
    ended = outcome(specified.finish)
    assert outcome(stream.finish) == ended
    if errors != "bpetite-tests-skipping" and "replacing" not in errors:
        assert all(whole == parts for whole, parts in pieces)
        assert outcome(streams.finish, slot) == ended
        assert outcome(streams.finish, others) == outcome(untouched.finish)
    assert outcome(stream.push, [97]) == outcome(specified.push, [97])


@pytest.mark.parametrize("kind", KINDS)
@given(
    prompts=st.lists(st.lists(st.integers(0, 255), max_size=3), min_size=1, max_size=4),
    steps=st.lists(st.lists(st.tuples(st.integers(0, 3), some_ids), max_size=6), max_size=6),
)
def test_every_slot_is_a_stream_of_its_own(
    kind: str, prompts: list[list[int]], steps: list[list[tuple[int, int]]]
) -> None:
    encoder = ENCODERS[kind]
    streams = encoder.decode_streams("replace")
    slots, alone = [], []
    for prompt in prompts:
        slots.append(streams.open(prompt))
        alone.append(encoder.decode_stream("replace"))
        alone[-1].push(prompt)
    for step in steps:
        step = [(place % len(prompts), own) for place, own in step]
        numbers, ids = [slots[place] for place, _ in step], [own for _, own in step]
        if not all(isinstance(outcome(encoder.token_bytes, own), bytes) for own in ids):
            with pytest.raises(KeyError):
                streams.step(numbers, ids)
            continue
        stepped = streams.step(np.array(numbers, np.int64), np.array(ids, np.uint32))
        assert stepped == [alone[place].push(own) for place, own in step]
    assert [*map(streams.finish, slots)] == [stream.finish() for stream in alone]


TOKENIZER = Tokenizer.train("ab ab ab", 258)


def test_a_step_that_fails_leaves_all_slots_as_they_were() -> None:
    streams = TOKENIZER.decode_streams(errors="strict")
    a, b, closed = (streams.open() for _ in range(3))
    assert streams.finish(closed) == ""
    assert streams.step([a, b], [0xE6, 97]) == ["", "a"]
    wrong: list[tuple[list[Any], list[Any], type[Exception], str]] = [
        ([a, b, a], [0x97, 98, 999], UnknownTokenError, "unknown id 999"),
        ([a, b], [0x97, -1], UnknownTokenError, "unknown id -1: the vocabulary has no such token"),
        ([a, closed], [0x97, 97], ValueError, f"slot {closed} is not open"),
        ([a, 2**40], [0x97, 97], ValueError, f"slot {2**40} is not open"),
        ([a, -1], [0x97, 97], ValueError, "slot -1 is not open"),
        ([a, b], [0x97], ValueError, "each slot takes one id: not 2 slots and 1 ids"),
        ([a, a, a], [0x97, 0xA5, 0xFF], UnicodeDecodeError, "can't decode byte 0xff"),
        ([a, True], [0x97, 97], TypeError, "slots must be integers, not True"),
        ([a, b], [0x97, "a"], TypeError, "ids must be integers, not str"),
    ]
    for slots, ids, error, message in wrong:
        with pytest.raises(error, match=message):
            streams.step(slots, ids)
    assert streams.step([a, a, b], [0x97, 0xA5, 98]) == ["", "\u65e5", "b"]


def test_an_error_of_a_step_says_in_which_slot() -> None:
    streams = TOKENIZER.decode_streams(errors="strict")
    slots = [streams.open() for _ in range(3)]
    with pytest.raises(UnicodeDecodeError) as raised:
        streams.step(slots, [97, 97, 0xFF])
    assert raised.value.__notes__ == ["in slot 2, number 2 of this step"]


def test_a_slot_may_end_in_the_middle_of_a_character() -> None:
    for errors, rest in (("replace", "\ufffd"), ("ignore", "")):
        streams = TOKENIZER.decode_streams(errors=errors)
        assert streams.finish(streams.open([0xE6])) == rest
    streams = TOKENIZER.decode_streams(errors="strict")
    slot = streams.open([0xE6])
    for error in (UnicodeDecodeError, ValueError):
        with pytest.raises(error):
            streams.finish(slot)
    with pytest.raises(UnknownTokenError):
        streams.open([999])
    assert streams.open() == slot + 1


def test_a_handler_that_uses_its_own_stream_is_refused() -> None:
    calls: list[Callable[[], object]] = []

    def reentering(error: UnicodeError) -> tuple[str, int]:
        calls.pop()()
        return "", 1

    codecs.register_error("bpetite-tests-reentering", reentering)
    stream = TOKENIZER.decode_stream(errors="bpetite-tests-reentering")
    streams = TOKENIZER.decode_streams(errors="bpetite-tests-reentering")
    slot = streams.open()
    calls += [lambda: streams.finish(slot), lambda: stream.push(97)]
    with pytest.raises(RuntimeError, match="used by another call"):
        stream.push(0xFF)
    with pytest.raises(RuntimeError, match="used by another call"):
        streams.step([slot], [0xFF])
    assert (stream.push(97), streams.step([slot], [97])) == ("a", ["a"])


def test_threads_step_their_slots() -> None:
    streams = TOKENIZER.decode_streams()
    texts = [f"{number} \u65e5\u672c \U0001f600 " * 50 for number in range(8)]
    written = [""] * len(texts)

    def work(number: int) -> None:
        slot = streams.open()
        for token_id in TOKENIZER.encode(texts[number]):
            written[number] += streams.step([slot], [token_id])[0]
        written[number] += streams.finish(slot)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert written == texts


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there is no timer")
def test_a_long_step_is_stopped_by_a_signal_and_changes_nothing() -> None:
    streams = TOKENIZER.decode_streams()
    slot = streams.open()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    many = 5_000_000
    slots, ids = np.full(many, slot), np.full(many, 0xE6)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            streams.step(slots, ids)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert streams.finish(slot) == ""
