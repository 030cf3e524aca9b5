"""Added tokens are found as `tokenizers` and `sentencepiece` find them: the specification against both."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tokenizers
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from tokenizers import models, pre_tokenizers
from tokenizers import normalizers as n

from bpetite import Tokenizer, accelerate, corpus
from bpetite._internal.types import Special
from bpetite.cli import main
from bpetite.corpus import Documents, Options
from bpetite.formats.sentencepiece import parse
from bpetite.formats.shared.printable import to_printable
from bpetite.interfaces.huggingface import HuggingFaceTokenizer
from bpetite.specification.added_tokens import AddedToken, sections
from bpetite.specification.normalizer import Step, aligned
from test_corpus_encoding import documents_in
from test_sentencepiece import MARK, field, made, trained

ALPHABET = {to_printable(bytes([byte])): byte for byte in range(256)}
NORMALIZERS: dict[str, tuple[Any, list[Step]]] = {
    "none": (None, []),
    "NFC": (n.NFC(), [("NFC",)]),
    "NFKD, Lowercase": (n.Sequence([n.NFKD(), n.Lowercase()]), [("NFKD",), ("Lowercase",)]),
    "Strip": (n.Strip(), [("Strip left",), ("Strip right",)]),
    "Prepend": (n.Prepend("\u2581"), [("Prepend", "\u2581")]),
    "Replace": (n.Replace(" ", "Q"), [("Replace", " ", "Q")]),
    "Replace two": (n.Replace("  ", " "), [("Replace", "  ", " ")]),
}
PARTS = [
    "<a>",
    "<",
    ">",
    "a",
    "Q",
    "9",
    " ",
    "  ",
    "\u00a0",
    "\n",
    "\u00e9",
    "e\u0301",
    "\u2581",
    "\u00df",
    "\ufb01",
]
TEXTS = st.lists(st.sampled_from(PARTS), max_size=10).map("".join)
TOKENS = st.lists(
    st.builds(
        AddedToken,
        st.lists(st.sampled_from(PARTS), min_size=1, max_size=3).map("".join),
        st.just(0),
        *[st.booleans()] * 5,
    ),
    min_size=1,
    max_size=5,
    unique_by=lambda token: token.text,
)


def with_tokens(
    tokens: list[AddedToken], normalizer: Any
) -> tuple[tokenizers.Tokenizer, list[AddedToken]]:
    """A tokenizer of single bytes with added tokens, and these with the ids that they have there."""
    theirs = tokenizers.Tokenizer(models.BPE(dict(ALPHABET), []))
    theirs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    theirs.normalizer = normalizer
    for text, _, *flags in tokens:
        names = ("special", "normalized", "single_word", "lstrip", "rstrip")
        theirs.add_tokens([tokenizers.AddedToken(text, **dict(zip(names, flags, strict=True)))])
    ids = {token.content: token_id for token_id, token in theirs.get_added_tokens_decoder().items()}
    return theirs, [token._replace(token_id=ids[token.text]) for token in tokens]


@settings(max_examples=1000, deadline=None)
@given(TOKENS, st.sampled_from(list(NORMALIZERS)), TEXTS, st.booleans())
@example(
    [AddedToken("<m>", 0, lstrip=True), AddedToken("  ", 0, normalized=True)],
    "none",
    "a  <m>",
    True,
)
@example(
    [AddedToken("QQ", 0, single_word=True, normalized=True), AddedToken("99", 0)],
    "none",
    "QQ99",
    True,
)
def test_the_specification_finds_the_tokens_that_tokenizers_finds(
    tokens: list[AddedToken], named: str, text: str, parses: bool
) -> None:
    normalizer, steps = NORMALIZERS[named]
    searched = [aligned(token.text, steps)[0] for token in tokens if token.normalized]
    assume(all(searched) and len(set(searched)) == len(searched))
    theirs, tokens = with_tokens(tokens, normalizer)
    theirs.encode_special_tokens = not parses
    ids, offsets = [], []
    for part in sections(
        text, tokens, lambda part: aligned(part, steps), "parse" if parses else "text"
    ):
        if part.token_id is not None:
            ids.append(part.token_id)
            offsets.append((part.places[0][0], part.places[-1][1]))
            continue
        for character, place in zip(part.text, part.places, strict=True):
            for byte in character.encode():
                ids.append(byte)
                offsets.append(place)
    found = encoded(theirs, text)
    assert found is None or (ids, offsets) == (found.ids, found.offsets)


def encoded(theirs: tokenizers.Tokenizer, text: str) -> Any:
    """What `tokenizers` gives; nothing where it panics, as a token is left with less than no text."""
    try:
        return theirs.encode(text, add_special_tokens=False)
    except BaseException as panic:
        if type(panic).__name__ == "PanicException" and "bad split" in str(panic):
            return None
        raise


WAYS: dict[str, Callable[[Tokenizer, str, Special], list[int]]] = {
    "encode": lambda tok, text, special: tok.encode(text, special),
    "encode_batch": lambda tok, text, special: tok.encode_batch([text, text], special=special)[1],
    "encode_to_numpy": lambda tok, text, special: tok.encode_to_numpy(text, special).tolist(),
    "encode_batch_to_numpy": lambda tok, text, special: tok.encode_batch_to_numpy(
        [text.encode()], special=special
    )[0].tolist(),
    "encode_iterable": lambda tok, text, special: list(
        tok.encode_iterable(list(text), special=special)
    ),
    "growing": lambda tok, text, special: grown(tok, text, special),
    "encode_with_offsets": lambda tok, text, special: tok.encode_with_offsets(
        text, special=special
    )[0],
    "chunks": lambda tok, text, special: (
        [token_id for chunk in tok.chunks(text, 1000, special=special) for token_id in chunk.ids]
    ),
}


def grown(tok: Tokenizer, text: str, special: Special) -> list[int]:
    growing = tok.growing(special=special)
    for piece in (
        [text] if special == "error" else text
    ):  # a part may have a token that the whole has not
        growing.append(piece)
    return growing.ids


def ids_of(way: str, tok: Tokenizer, text: str, special: Special) -> list[int] | None:
    """The ids, or None for a text that is refused as it has a special token."""
    try:
        return WAYS[way](tok, text, special)
    except ValueError as error:
        if "the text contains the special token" in str(error):
            return None
        raise


@settings(max_examples=400, deadline=None)
@given(TOKENS, st.sampled_from(list(NORMALIZERS)), TEXTS)
@example(
    [AddedToken("<m>", 0, lstrip=True), AddedToken("  ", 0, normalized=True)], "none", "a  <m>"
)
@example(
    [AddedToken("QQ", 0, single_word=True, normalized=True), AddedToken("99", 0)], "none", "QQ99"
)
@example([AddedToken("<a>", 0), AddedToken("  ", 0, special=False)], "none", "a  <a>")
@example([AddedToken("<A>", 0, normalized=True)], "NFKD, Lowercase", "<a>")
def test_every_way_to_encode_treats_added_tokens_as_tokenizers_does(
    tokens: list[AddedToken], named: str, text: str
) -> None:
    theirs, tokens = with_tokens(tokens, NORMALIZERS[named][0])
    try:
        tok = Tokenizer.load(theirs)
    except ValueError:
        assume(False)
        raise
    parsed = encoded(theirs, text)
    special_ids = {token.token_id for token in tokens if token.special}
    found = sections(text, tokens, lambda part: aligned(part, NORMALIZERS[named][1]))
    is_refused = not special_ids.isdisjoint(part.token_id for part in found)
    theirs.encode_special_tokens = True
    as_text = encoded(theirs, text)
    for way in WAYS:
        if parsed is not None:
            assert ids_of(way, tok, text, "parse") == parsed.ids, way
            assert ids_of(way, tok, text, "error") == (None if is_refused else parsed.ids), way
        assert as_text is None or ids_of(way, tok, text, "text") == as_text.ids, way


@settings(max_examples=400, deadline=None)
@given(TOKENS, st.sampled_from(list(NORMALIZERS)), TEXTS, st.booleans())
@example(
    [AddedToken("<m>", 0, lstrip=True), AddedToken("  ", 0, normalized=True)],
    "none",
    "a  <m>",
    True,
)
@example(
    [AddedToken("QQ", 0, single_word=True, normalized=True), AddedToken("99", 0)],
    "none",
    "QQ99",
    True,
)
def test_an_accelerated_tokenizer_finds_added_tokens_where_the_real_one_does(
    tokens: list[AddedToken], named: str, text: str, parses: bool
) -> None:
    theirs, _ = with_tokens(tokens, NORMALIZERS[named][0])
    theirs.encode_special_tokens = not parses
    try:
        ours = HuggingFaceTokenizer(theirs)
    except ValueError:
        assume(False)
    expected = encoded(theirs, text)
    assume(expected is not None)
    for found in (
        ours.encode(text, add_special_tokens=False),
        *ours.encode_batch(["", text], add_special_tokens=False)[1:],
    ):
        assert (found.ids, found.offsets) == (expected.ids, expected.offsets)
        assert (found.tokens, found.word_ids) == (expected.tokens, expected.word_ids)


@settings(max_examples=100, deadline=None)
@given(TOKENS, st.sampled_from(list(NORMALIZERS)), TEXTS)
@example([AddedToken("9", 0, special=False, single_word=True)], "none", "a9 9")
def test_artifacts_and_exports_keep_which_tokens_are_special_and_their_flags(
    tokens: list[AddedToken], named: str, text: str
) -> None:
    theirs, tokens = with_tokens(tokens, NORMALIZERS[named][0])
    try:
        tok = Tokenizer.load(theirs)
    except ValueError:
        assume(False)
        raise
    with tempfile.TemporaryDirectory() as folder:
        tok.save(f"{folder}/tok.json")
        again = Tokenizer.load(f"{folder}/tok.json")
        again.to_huggingface(f"{folder}/tokenizer.json")
        written = tokenizers.Tokenizer.from_file(f"{folder}/tokenizer.json")
    assert again == tok
    assert again.vocabulary.added_tokens == {token.text for token in tokens if not token.special}
    theirs.encode_special_tokens = written.encode_special_tokens = True
    expected = encoded(theirs, text)
    assume(expected is not None)
    assert again.encode(text, "text") == expected.ids == written.encode(text).ids


SENTENCES = [
    "a\nb",
    "\n\n the hat\n<x> of",
    "  the  cat    ",
    "the <s>hat</s>\n",
    "<unk>\n",
    f"a{MARK}{MARK}b\n",
]


@pytest.fixture(scope="module")
def sentencepiece_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model like Gemma's, whose line breaks and runs of spaces are user-defined pieces."""
    path = tmp_path_factory.mktemp("model") / "tokenizer.model"
    path.write_bytes(trained("gemma"))
    return path


@pytest.mark.parametrize("way", WAYS)
def test_user_defined_pieces_are_found_in_every_text(way: str, sentencepiece_model: Path) -> None:
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(sentencepiece_model))
    tok = Tokenizer.load(sentencepiece_model)
    for text in SENTENCES:
        assert ids_of(way, tok, text, "text") == theirs.encode(text)
        has_control = (
            any(theirs.is_control(token_id) for token_id in tok.encode(text)) or "<unk>" in text
        )
        assert ids_of(way, tok, text, "error") == (None if has_control else theirs.encode(text))


def test_what_is_made_of_a_tokenizer_finds_user_defined_pieces_in_every_text(
    sentencepiece_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(sentencepiece_model))
    tok = Tokenizer.load(sentencepiece_model)
    encoding = tok.as_tiktoken()
    assert not encoding.special_tokens_set & {"\n", "<x>"}
    assert "<s>" in encoding.special_tokens_set
    assert not encoding.is_special_token(tok.special_tokens["\n"])
    for number, text in enumerate(SENTENCES):
        expected = theirs.encode(text)
        assert (
            encoding.encode(text, disallowed_special=())
            == encoding.encode_ordinary(text)
            == expected
        )
        assert encoding.encode(text, allowed_special="all") == tok.encode(text)
        assert (
            tok.count(text, "text") == tok.count_batch([text], special="text")[0] == len(expected)
        )
        whole = tok.fit(text, len(expected), special="text")
        assert whole == text
        folder = tmp_path / str(number)
        corpus.encode(tok, Documents([text]), folder, options=Options(special="text"))
        assert documents_in(folder) == [expected]
    model = str(sentencepiece_model)
    with pytest.raises(SystemExit, match="0"):
        main(["encode", "--model", model, "--special", "error", "--text", "a\nb"])
    assert json.loads(capsys.readouterr().out) == theirs.encode("a\nb")
    with pytest.raises(ValueError, match="disallowed special token '<s>'"):
        encoding.encode("a\n<s>")


def test_a_refusal_of_a_special_token_names_its_place_in_the_text_that_was_given() -> None:
    tokens = [AddedToken("<A>", 0, normalized=True), AddedToken("\n", 0, special=False)]
    theirs, _ = with_tokens(tokens, n.Sequence([n.NFKD(), n.Lowercase()]))
    tok = Tokenizer.load(theirs)
    for way in ("encode", "encode_with_offsets", "encode_batch", "encode_to_numpy"):
        with pytest.raises(ValueError, match='special token "<a>" at character 3'):
            WAYS[way](tok, "\ufb01\n\u00e9<a>", "error")


USER_DEFINED = [
    " ",
    "  ",
    "   ",
    " a",
    "b ",
    "a b",
    MARK * 2,
    f"a{MARK}",
    "ab",
    "x",
    "\ufb01",
    "\t",
]
WORDS = ["ab", f"{MARK}a", MARK * 2, f"b{MARK}", f"{MARK}ab", "fi"]
SPACED = st.lists(st.sampled_from([*" ab\u2581x\t\u3000\ufb01", "  ", "a b"]), max_size=9).map(
    "".join
)


@settings(max_examples=300, deadline=None)
@given(st.sets(st.sampled_from(USER_DEFINED), max_size=4), SPACED, *[st.booleans()] * 2)
@example({"  "}, "a  b", True, False)
def test_user_defined_pieces_are_normalized_and_found_as_sentencepiece_does(
    user_defined: set[str], text: str, puts_space: bool, removes_spaces: bool
) -> None:
    listed = [
        *((piece, 0.0, 4) for piece in sorted(user_defined)),
        *((word, -1.0 - rank, 1) for rank, word in enumerate(WORDS) if word not in user_defined),
        *((one, 0.0, 1) for one in f"{MARK}abxfi" if one not in user_defined),
    ]
    model = made(listed, normalizer=field(3, int(puts_space)) + field(4, int(removes_spaces)))
    theirs = sentencepiece.SentencePieceProcessor(model_proto=model)
    has_spaces = any({" ", MARK} & set(piece) for piece in user_defined)
    try:
        read = parse(model)
    except ValueError as error:
        if "user-defined piece" in str(error) and removes_spaces and has_spaces:
            return
        raise
    tok = Tokenizer(read.vocabulary)
    for way in ("encode", "encode_iterable"):
        assert ids_of(way, tok, text, "text") == theirs.encode(text), way


@pytest.mark.parametrize(
    "token",
    [
        tokenizers.AddedToken("a", lstrip=True, normalized=True),
        tokenizers.AddedToken(MARK, normalized=True),
    ],
)
def test_tokens_of_text_whose_spaces_are_marked_later_are_refused(
    token: tokenizers.AddedToken,
) -> None:
    theirs = tokenizers.Tokenizer(models.BPE({"<unk>": 0, "a": 1, MARK: 2}, [], unk_token="<unk>"))
    theirs.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    theirs.add_tokens([token])
    with pytest.raises(ValueError, match="not supported where spaces become U"):
        Tokenizer.load(theirs)


def test_a_whole_pretoken_that_is_a_special_token_is_left_to_the_real_tokenizer() -> None:
    theirs = tokenizers.Tokenizer(models.BPE({**ALPHABET, "<s>": 256}, [], ignore_merges=True))
    theirs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    theirs.add_special_tokens(["<s>"])
    theirs.encode_special_tokens = True
    assert accelerate(theirs).encode("<s>").ids == theirs.encode("<s>").ids == [256]
    assert Tokenizer.load(theirs).encode("<s>", "text") == [
        60,
        115,
        62,
    ]  # never the id of a special token
