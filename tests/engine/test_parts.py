"""Texts in parts have the ids of the joined text, with special tokens found as each part says."""

from __future__ import annotations

from bisect import bisect_right
from contextlib import suppress
from itertools import accumulate, combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
import tokenizers
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer, _engine
from bpetite._encoder import encode_parts
from bpetite.formats import huggingface
from bpetite.specification.added_tokens import AddedToken, Choice
from bpetite.specification.normalizer import aligned
from test_growing_engine import ENCODERS

Parts = list[tuple[str, Choice]]
Ids = tuple[list[int], list[int]]
CHOICES: tuple[Choice, ...] = ("parse", "text", "error")
MERGES = [(97, 97, 300), (97, 98, 301), (32, 97, 302), (300, 301, 303), (0xC3, 0xA9, 304)]
VOCAB = {byte: bytes([byte]) for byte in range(256)}
for left, right, merged in MERGES:
    VOCAB[merged] = VOCAB[left] + VOCAB[right]


class Case:
    """A vocabulary with added tokens and a normalization, in the engine and as specified."""

    def __init__(
        self,
        tokens: list[AddedToken],
        steps: list[list[str]],
        pattern: str = "(?s:.+)",
        **more: Any,
    ) -> None:
        self.tokens, self.steps, self.pattern = tokens, [tuple(step) for step in steps], pattern
        flags = ("special", "normalized", "single_word", "lstrip", "rstrip")
        self.engine = _engine.Encoder(
            pattern=pattern,
            tokens=b"".join(VOCAB.values()),
            ends=np.cumsum([len(token) for token in VOCAB.values()], dtype=np.uint64).tobytes(),
            ids=np.array(list(VOCAB), dtype=np.uint32).tobytes(),
            merges=np.array(MERGES, dtype=np.uint32).tobytes(),
            added_tokens=[
                (token.text, token.token_id, [name for name in flags if getattr(token, name)])
                for token in tokens
            ],
            normalization=self.steps,
            **more,
        )

    def specified(self, parts: Parts) -> Ids | None:
        """The ids, and the part of each; None for what is refused."""
        merges = [(left, right) for left, right, _ in MERGES]
        try:
            found = list(
                encode_parts(
                    parts, VOCAB, merges, self.tokens, self.normalized, pattern=self.pattern
                )
            )
        except ValueError:
            return None
        return [token_id for token_id, _ in found], [part for _, part in found]

    def normalized(self, text: str) -> tuple[str, list[tuple[int, int]]]:
        return aligned(text, self.steps)

    def found(self, parts: Parts) -> Ids | None:
        try:
            return self.engine.encode_parts(parts)
        except ValueError:
            return None


def token(text: str, number: int, flags: str = "s") -> AddedToken:
    """The flags: s for special, n for normalized, w for a single word, l and r for white space."""
    names = {"s": "special", "n": "normalized", "w": "single_word", "l": "lstrip", "r": "rstrip"}
    return AddedToken(
        text, 400 + number, **{name: letter in flags for letter, name in names.items()}
    )


def case(
    *tokens: tuple[str, str], steps: list[list[str]] | None = None, pattern: str = "(?s:.+)"
) -> Case:
    return Case(
        [token(text, number, flags) for number, (text, flags) in enumerate(tokens)],
        steps or [],
        pattern,
    )


LOWERED = [["Lowercase"]]
TINY = {
    "prefixes": ("ab ", case(("a", "s"), ("ab", "s"), ("aba", "s"))),
    "a plain one within": ("ab ", case(("ab", "s"), ("b", ""), ("bab", "s"))),
    "a plain one that is longer": ("ab ", case(("ab", "s"), ("aba", ""), ("ba", "s"))),
    "none is special": ("ab ", case(("ab", ""), ("ba", "l"))),
    "white space": ("ab ", case(("a", "slr"), (" ", ""), ("b a", "s"))),
    "white space that is special": ("ab ", case((" ", "slr"), ("a ", "sr"))),
    "words": ("ab ", case(("a", "sw"), ("b", "w"), ("ab", "s"))),
    "pretokens": ("ab ", case(("b a", "s"), ("b ", "s"), pattern=r" ?\S+|\s+")),
    "normalized": ("aA ", case(("a", "sn"), ("aa", "sn"), ("A ", "n"), steps=LOWERED)),
    "some normalized": ("aA ", case(("a", "s"), ("aa", "sn"), ("AA ", "sl"), steps=LOWERED)),
    "normalized without need": ("ab ", case(("a", "sn"), ("ab", "s"), (" b", "snl"))),
    "composed": (
        "e\u0301a",
        case(("\u00e9", "sn"), ("\u00e9a", "sn"), ("ae", "s"), steps=[["NFC"]]),
    ),
    "decomposed": ("e\u00e9a", case(("e", "sn"), ("\u0301a", "sn"), steps=[["NFD"]])),
    "prepended": ("ab ", case((" a", "sn"), ("b", "s"), ("a", "n"), steps=[["Prepend", " "]])),
    "replaced": (
        "ab ",
        case(("bb", "sn"), ("a", "s"), ("b", "snr"), steps=[["Replace", " ", "bb"]]),
    ),
    "replaced together": (
        "ab ",
        case(("c", "sn"), ("bc", "sn"), steps=[["Map", "ab", "cc", "b ", "b"]]),
    ),
    "dropped": ("ab ", case(("bb", "sn"), ("b", "s"), steps=[["Replace", "a", ""]])),
}


def cut(text: str, seams: tuple[int, ...]) -> list[str]:
    return [text[start:end] for start, end in zip([0, *seams], [*seams, len(text)], strict=True)]


@pytest.mark.parametrize("name", TINY)
def test_the_engine_finds_what_is_specified_in_each_short_text_however_it_is_cut(name: str) -> None:
    letters, tiny = TINY[name]
    kinds: set[str] = set()
    texts = ["".join(text) for length in range(5) for text in product(letters, repeat=length)]
    for text in texts:
        for count in range(3):
            every = list(product(CHOICES, repeat=count + 1))
            for number, seams in enumerate(
                combinations_with_replacement(range(len(text) + 1), count)
            ):
                # Of the choices for three parts, others for each cut.
                for choices in every if count < 2 else every[number % 5 :: 5]:
                    parts = list(zip(cut(text, seams), choices, strict=True))
                    specified = tiny.specified(parts)
                    assert tiny.found(parts) == specified, parts
                    kinds.add("refused" if specified is None else "given")
                    if specified and count == 0:
                        assert specified[0] == tiny.engine.encode(text, choices[0])
    assert kinds == ({"given"} if name == "none is special" else {"given", "refused"})


CUTS = ["(?s:.+)", r" ?\S+|\s+", r"\S+|\s", r"[a-z]+|\s+(?!\S)|\s+|[^a-z\s]+"]
LETTERS = [
    "a",
    "b",
    "A",
    " ",
    "  ",
    "e",
    "\u0301",
    "\u00e9",
    "<",
    "<s>",
    "s>",
    "\u4e2d",
    "\n",
    " " * 20,
]
texts = st.lists(st.sampled_from(LETTERS), max_size=6).map("".join)
parts_of_texts = st.lists(st.tuples(texts, st.sampled_from(CHOICES)), max_size=6)
STEPS = [
    ["NFC"],
    ["NFD"],
    ["Lowercase"],
    ["Prepend", " "],
    ["Replace", " ", "aa"],
    ["Replace", "a", ""],
]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    texts = st.lists(st.sampled_from(LETTERS), min_size=1, max_size=3).map("".join)
    flags = st.sets(st.sampled_from("snwlr")).map("".join)
    tokens = draw(st.lists(st.tuples(texts, flags), max_size=6, unique_by=lambda one: one[0]))
    steps = draw(st.lists(st.sampled_from(STEPS), max_size=2))
    normal = [
        aligned(text, [tuple(step) for step in steps])[0] for text, flags in tokens if "n" in flags
    ]
    assume(len({*normal}) == len(normal))
    return case(*tokens, steps=steps, pattern=draw(st.sampled_from(CUTS)))


@settings(max_examples=600, deadline=None)
@given(cases(), st.lists(parts_of_texts, max_size=4))
def test_the_engine_encodes_parts_as_specified_alone_and_in_batches(
    case: Case, batch: list[Parts]
) -> None:
    expected = [case.specified(parts) for parts in batch]
    assert [case.found(parts) for parts in batch] == expected
    for threads in (1, 2):
        given_only = [parts for parts, ids in zip(batch, expected, strict=True) if ids]
        assert case.engine.encode_parts_batch(given_only, threads) == [
            ids for ids in expected if ids
        ]
        if None in expected:
            with pytest.raises(ValueError, match="contains the special token"):
                case.engine.encode_parts_batch(batch, threads)


@pytest.mark.parametrize("name", TINY)
def test_the_ids_of_long_texts_do_not_depend_on_the_number_of_threads(name: str) -> None:
    letters, tiny = TINY[name]
    encoder = tiny.engine
    pieces = ["".join(piece) for piece in product(letters, repeat=3)] + [letters[0] * 7 + "\n, x"]
    parts: Parts = [
        (pieces[number * 7 % len(pieces)] * (number % 5) + ". \n", CHOICES[number % 2])
        for number in range(60_000)
    ]
    [one] = encoder.encode_parts_batch([parts], 1)
    assert encoder.encode_parts_batch([parts, parts[:9], parts], 2) == [
        one,
        encoder.encode_parts(parts[:9]),
        one,
    ]
    assert encoder.encode_parts(parts) == one


@settings(max_examples=600, deadline=None)
@given(
    cases(),
    st.sampled_from(CHOICES),
    st.lists(
        st.one_of(
            st.integers(0, 12), st.just("copy"), st.tuples(texts, st.sampled_from([None, *CHOICES]))
        ),
        max_size=9,
    ),
)
def test_a_growing_text_has_the_ids_of_its_parts_after_every_step(
    case: Case, own: Choice, steps: list[Any]
) -> None:
    growing = case.engine.growing(own)
    parts: list[tuple[str, Choice | None]] = []
    for step in steps:
        before, changed = (growing.text, growing.ids, growing.parts), list(parts)
        if step == "copy":
            copy = growing.copy()
            with suppress(ValueError):
                growing.append("<s>b", "text")
            growing = copy
            continue
        try:
            if isinstance(step, int):
                changed = shortened(parts, step)
                unchanged = growing.truncate(step)
            else:
                text, choice = step
                if choice is None and parts and parts[-1][1] is None:
                    changed[-1] = (parts[-1][0] + text, None)
                else:
                    changed.append(step)
                unchanged = growing.append(text, choice)
        except ValueError:
            assert (growing.text, growing.ids, growing.parts) == before
            assert case.found([(text, choice or own) for text, choice in changed]) is None
        else:
            parts = changed
            assert growing.ids[:unchanged] == before[1][:unchanged]
        expected = case.found([(text, choice or own) for text, choice in parts])
        assert (growing.ids, growing.parts) == expected


def shortened(parts: list[Any], length: int) -> list[Any]:
    """The parts of the first characters of a text."""
    kept = []
    for text, choice in parts:
        if length > 0:
            kept.append((text[:length], choice))
        length -= len(text)
    return kept if length < 0 else list(parts)


@pytest.mark.parametrize("name", ENCODERS)
@given(
    pieces=st.lists(
        st.sampled_from([*"abA\n\u0301 ", "ab", "aaaaa", "  ", "\u65e5\u65a5"]), max_size=9
    )
)
def test_an_id_is_of_the_part_in_which_its_place_begins(name: str, pieces: list[str]) -> None:
    encoder, text = ENCODERS[name], "".join(pieces)
    assume("    " not in text)  # A special token.
    ids, parts = encoder.encode_parts(
        (piece, CHOICES[number % 3]) for number, piece in enumerate(pieces)
    )
    assert ids == encoder.encode(text)
    ends = list(accumulate(map(len, pieces)))
    assert parts == [bisect_right(ends, start) for start, _ in encoder.places(text, ids)]
    growing = encoder.growing()
    for piece in pieces:
        growing.append(piece)
    assert (growing.ids, growing.parts) == (ids, [0] * len(ids))


CORPUS = "user\n\nHello, user\n\nthe 12 cats\n\n" * 20
TRAINED = Tokenizer.train_from_iterator(
    [CORPUS], 290, pattern="cl100k", special_tokens=["<s>", "<s><t>", "</s>"]
)


THEIRS = tokenizers.Tokenizer.from_buffer(huggingface.to_bytes(TRAINED.vocabulary))


def test_merges_cross_seams() -> None:
    pair = TRAINED.encode("\n\n")
    assert len(pair) == 1
    ids, parts = TRAINED.encode_parts([("<s>user\n", "parse"), ("\nHello", "text")])
    assert ids == TRAINED.encode("<s>user\n\nHello")
    assert pair[0] in ids
    assert parts[ids.index(pair[0])] == 0
    assert parts[-1] == 1


@given(
    st.lists(
        st.tuples(
            st.sampled_from([CORPUS[:9], "\n", "\nHe", " 12", "<s", ">", ""]),
            st.sampled_from(CHOICES),
        )
    )
)
def test_without_special_tokens_the_ids_are_those_of_tokenizers(parts: Parts) -> None:
    text = "".join(text for text, _ in parts)
    found = TRAINED.encode_parts(parts)
    assert found.ids == (
        THEIRS.encode(text).ids if "<s>" not in text else TRAINED.encode(text, "text")
    )
    assert len(found.parts) == len(found.ids)
    assert found.parts == sorted(found.parts)


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize(
    "text", ["ab\u65e5\u65a5 c\u00e9", "\u2603\u2603", "abc c", "\u00e9a\u00e9"]
)
def test_unknown_characters_are_of_the_parts_where_tokenizers_places_them(
    text: str, fuse: bool
) -> None:
    real = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="?", fuse_unk=fuse))
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=12, special_tokens=["?"], show_progress=False
    )
    real.train_from_iterator(["abc ab abc \u00e8"], trainer)
    encoded = real.encode(text)
    parts = Tokenizer.load(real).encode_parts((character, "text") for character in text)
    assert parts == (encoded.ids, [start for start, _ in encoded.offsets])


def test_a_token_is_refused_with_its_place_in_the_joined_text() -> None:
    refused: Parts = [("<s>\u00e9", "parse"), ("a<s>", "error")]
    normalized = TINY["composed"][1].engine
    for encode in (
        TRAINED.encode_parts,
        lambda parts: TRAINED.encode_parts_batch([[], parts], num_threads=2),
    ):
        with pytest.raises(ValueError, match='"<s>" at character 5;'):
            encode(refused)
    with pytest.raises(ValueError, match='"\u00e9a" at character 4;'):
        normalized.encode_parts([("e\u0301ae", "text"), ("e\u0301a", "error")])
    growing = TRAINED.growing("<s>\u00e9")
    with pytest.raises(ValueError, match='"<s>" at character 5;'):
        growing.append("a<s>", "error")
    assert (growing.text, growing.parts) == ("<s>\u00e9", [0, 0, 0])


PAIR: Any = ("a", "text")


@pytest.mark.parametrize(
    ("parts", "error", "message"),
    [
        (7, TypeError, "parts must be an iterable of pairs of a text and special, not int"),
        ([PAIR, "ab"], TypeError, "part 1 must be a pair of a text and special, not str"),
        ([PAIR, PAIR, ("a",)], TypeError, "part 2 must be a pair of a text and special, not tuple"),
        (
            [PAIR, (b"a", "text")],
            TypeError,
            "part 1 must be a pair that begins with a str, not bytes",
        ),
        ([("a", "texts")], ValueError, 'special: must be parse, text or error, not "texts"'),
        ([("a", None)], TypeError, "special: must be parse, text or error, not None"),
        ([("\ud800", "text")], UnicodeEncodeError, "surrogates"),
    ],
)
def test_what_are_no_parts_is_refused(parts: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{message}" if error is not UnicodeEncodeError else message):
        TRAINED.encode_parts(parts)
    prefix = "text 1: " if error is TypeError and "special:" not in message else ""
    with pytest.raises(
        error, match=f"^{prefix}{message}" if error is not UnicodeEncodeError else message
    ):
        TRAINED.encode_parts_batch([[PAIR], parts])
    with pytest.raises(TypeError, match="batch must be an iterable of lists of parts, not int"):
        TRAINED.encode_parts_batch(7)  # type: ignore[arg-type]
