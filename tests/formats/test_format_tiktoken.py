"""tiktoken's files against tiktoken: the same ids on any rank table, or a refusal."""

import base64
import hashlib
import pickle
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rustbpe
import tiktoken
import tiktoken.load
import tiktoken.model
import tiktoken.registry
from fuzz.patterns import Grammar, Syntax
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Dialect, Tokenizer, Vocabulary, _persistence
from bpetite._encoder import encode
from bpetite._engine import read_pattern, same_pattern
from bpetite.dialect import DIALECTS
from bpetite.formats import tiktoken as files
from bpetite.formats.shared.difficult import DIFFICULT_TEXTS
from bpetite.formats.shared.published import PUBLISHED
from bpetite.interfaces import tiktoken as stand_in
from bpetite.patterns import PATTERNS, named_pattern
from known_characters import known_text
from standard_library import standard_library_files

CORPUS = "the cat sat on the mat, the bat sat on the hat; naïve cafés, 東京都 12345\n" * 3
BASE = [bytes([byte]) for byte in range(256)]
TEXTS = [*DIFFICULT_TEXTS, *(path.read_text("utf-8") for path in standard_library_files()[::150])]


def content(tokens: Sequence[bytes], first: int = 0) -> bytes:
    return b"".join(
        b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens, first)
    )


def peer(
    tokens: Sequence[bytes], pattern: str = "whitespace", specials: Mapping[str, int] | None = None
) -> tiktoken.Encoding:
    return tiktoken.Encoding(
        "peer",
        pat_str=str(named_pattern(pattern)),
        mergeable_ranks={token: rank for rank, token in enumerate(tokens)},
        special_tokens=dict(specials or {}),
    )


def imported(tokens: Sequence[bytes], pattern: str = "whitespace", **options: Any) -> Tokenizer:
    return Tokenizer(files.parse("test.tiktoken", content(tokens), pattern, **options).vocabulary)


def some_tokens(rng: random.Random, letters: str, count: int, longest: int) -> list[bytes]:
    """A rank table that no training made: random strings over a few letters, in random order."""
    found = [
        "".join(rng.choices(letters, k=rng.randint(2, longest))).encode() for _ in range(count)
    ]
    return [*BASE, *dict.fromkeys(found)]


def grown_tokens(rng: random.Random, letters: str, count: int) -> list[bytes]:
    """A rank table in which every token is two earlier ones, not always the two that merging finds."""
    tokens = [letter.encode() for letter in letters]
    for _ in range(count):
        joined = rng.choice(tokens) + rng.choice(tokens)
        if joined not in tokens and len(joined) <= 12:
            tokens.append(joined)
    return [*BASE, *tokens[len(letters) :]]


@pytest.mark.parametrize("seed", range(150))
def test_any_rank_table_gives_tiktokens_ids(seed: int) -> None:
    rng = random.Random(seed)
    letters = ["ab", "abc", "aé"][seed % 3]
    if seed % 2:
        tokens = some_tokens(rng, letters, rng.randint(1, 12), rng.randint(2, 6))
    else:
        tokens = grown_tokens(rng, letters.replace("é", "b"), rng.randint(3, 25))
    if seed % 3 == 0:
        rng.shuffle(tokens)
    tok = imported(tokens)
    encoding = peer(tokens)
    for length in (1, 2, 3, 5, 8, 13, 30, 150):
        for _ in range(12):
            text = "".join(rng.choices(letters, k=length))
            ids = tok.encode_ordinary(text)
            assert ids == encoding.encode_ordinary(text)
            assert ids == encode(
                text,
                tok.vocabulary.tokens,
                tok.merges,
                {},
                tok.pattern,
                whole_pretoken_first=tok.vocabulary.whole_pretoken_first,
            )
    again = _persistence.vocabulary_of(_persistence.artifact_bytes(tok.vocabulary), "again.json")
    assert again == tok.vocabulary
    assert files.to_bytes(again) == content(tokens)


def test_a_token_may_stand_before_its_parents() -> None:
    tok = imported([*BASE, b"abab", b"ab"], "gpt2")
    assert tok.vocabulary.irregular
    assert tok.encode("xabab abab") == [120, 256, 32, 256]
    in_the_way = "b'ab' stands in the way: earlier merges need it, and it is only made by merge 1"
    with pytest.raises(ValueError, match=in_the_way):
        tok.truncate(257)
    assert tok.truncate(256).encode("ab") == [97, 98]
    assert tok.extend(["xabab"], add=1).encode("xabab abab") == [258, 32, 256]


def test_bytes_that_no_text_has_may_lack_and_a_token_may_be_empty(tmp_path: Path) -> None:
    tokens = [byte for byte in BASE if byte not in (b"\xc0", b"\xc1", b"\xff")]
    path = tmp_path / "t.tiktoken"
    path.write_bytes(content([*tokens, b"ab"]) + b"= 254\n")
    tok = Tokenizer.from_tiktoken(path, pattern="gpt2", special_tokens=["<|end|>"])
    assert tok.special_tokens == {"<|end|>": 255}
    assert tok.vocab_size == 256
    assert tok.decode([254, 253, 254]) == "ab"
    assert tok.encode("ab") == [253]
    tok.to_tiktoken(tmp_path / "again.tiktoken")
    assert (tmp_path / "again.tiktoken").read_bytes() == path.read_bytes()


def test_merges_are_recovered_as_they_were_learned() -> None:
    for name in ("bpetite", "cs336", "tiktoken"):
        trained = Tokenizer.train_from_iterator([CORPUS], 400, dialect=name)
        recovered = files.parse(
            "t", files.to_bytes(trained.vocabulary), "gpt2", trained.special_tokens
        )
        assert recovered.vocabulary.merges == trained.merges
        assert recovered.vocabulary.fingerprint == trained.fingerprint


@pytest.mark.parametrize("dialect", list(DIALECTS))
@pytest.mark.parametrize("pattern", [*PATTERNS, r"[a-z]+|\s"])
def test_what_we_write_tiktoken_reads_with_the_same_ids(
    dialect: str, pattern: str, tmp_path: Path
) -> None:
    specials = ["<|endoftext|>", "<|x|>"]
    tok = Tokenizer.train_from_iterator(
        [CORPUS], 420, dialect=dialect, pattern=pattern, special_tokens=specials
    )
    path = tmp_path / "tok.tiktoken"
    tok.to_tiktoken(path)
    encoding = tok.to_tiktoken_encoding()
    again = Tokenizer.from_tiktoken(path, pattern=pattern, special_tokens=tok.special_tokens)
    assert again.fingerprint == tok.fingerprint
    for text in [*TEXTS, "a<|x|>b<|endoftext|><|x|"]:
        assert encoding.encode(text, allowed_special="all") == tok.encode(text)
    again.to_tiktoken(tmp_path / "again.tiktoken")
    assert (tmp_path / "again.tiktoken").read_bytes() == path.read_bytes()


@settings(max_examples=100)
@given(known_text())
def test_any_text_gets_tiktokens_ids(text: str) -> None:
    tok, encoding = trained_pair()
    assert tok.encode(text) == encoding.encode(text, allowed_special="all")


_PAIRS: list[tuple[Tokenizer, tiktoken.Encoding]] = []


def trained_pair() -> tuple[Tokenizer, tiktoken.Encoding]:
    if not _PAIRS:
        texts = [path.read_text("utf-8") for path in standard_library_files()[::40]]
        tok = Tokenizer.train_from_iterator(texts, 2000, dialect="tiktoken", pattern="cl100k")
        _PAIRS.append((tok, tok.to_tiktoken_encoding("ours")))
    return _PAIRS[0]


def test_what_rustbpe_trained_is_read_with_the_same_ids(tmp_path: Path) -> None:
    theirs = rustbpe.Tokenizer()
    texts = [path.read_text("utf-8") for path in standard_library_files()[::30]]
    theirs.train_from_iterator(iter(texts), 3000, pattern=PATTERNS["gpt2"])
    tokens = [
        bytes(token) for token, _ in sorted(theirs.get_mergeable_ranks(), key=lambda item: item[1])
    ]
    (tmp_path / "rust.tiktoken").write_bytes(content(tokens))
    tok = Tokenizer.from_tiktoken(
        tmp_path / "rust.tiktoken", pattern="gpt2", special_tokens=["<|end|>"]
    )
    assert tok.special_tokens == {"<|end|>": 3000}
    encoding = peer(tokens, "gpt2")
    for text in TEXTS:
        assert tok.encode_ordinary(text) == theirs.encode(text) == encoding.encode_ordinary(text)


def test_tokens_that_only_whole_pretokens_become_are_kept(tmp_path: Path) -> None:
    tokens = [*BASE, b"ab", b"xyz", b"\xff\xfe\xfd"]
    path = tmp_path / "tok.tiktoken"
    path.write_bytes(content(tokens))
    with pytest.raises(ValueError, match="there are tokens that no merge makes"):
        Tokenizer.from_tiktoken(path, pattern="gpt2", whole_pretoken_first=False)
    tok = Tokenizer.from_tiktoken(path, pattern="gpt2")
    assert tok.encode("xyz ab xyzab") == peer(tokens, "gpt2").encode("xyz ab xyzab")
    assert tok.decode_bytes([258]) == b"\xff\xfe\xfd"
    tok.to_tiktoken(tmp_path / "again.tiktoken")
    assert (tmp_path / "again.tiktoken").read_bytes() == path.read_bytes()
    tok.to_tiktoken_encoding()


def test_ids_may_have_gaps_that_special_tokens_fill(tmp_path: Path) -> None:
    path = tmp_path / "tok.tiktoken"
    path.write_bytes(content(BASE, 2))
    tok = Tokenizer.from_tiktoken(path, pattern="gpt2", special_tokens={"<a>": 1, "<b>": 0})
    assert tok.encode("a<a><b>") == [99, 1, 0]
    gap = Tokenizer.from_tiktoken(path, pattern="gpt2", special_tokens={"<a>": 1})
    assert gap.encode("a<a>") == [99, 1]
    with pytest.raises(KeyError):
        gap.decode([0])


BROKEN = [
    (b"!!!! 5\n", "line 257: b'!!!!' is not the base64"),
    (b"YW 256\n", "line 257: b'YW' is not the base64 of a token"),
    (b"YWI=", "line 257: b'' is not a rank"),
    (b"YWI= \n", "line 257: b'' is not a rank"),
    (b"YWI= -1\n", "line 257: b'-1' is not a rank"),
    (b"YWI= 256 1\n", "line 257: b'256 1' is not a rank"),
    (b"YWI= 1_0\n", "line 257"),
    (b"YWI= 1e3\n", "line 257"),
    (b"YWI= 99999999999\n", "line 257"),
    (b"YWI= 4294967295\n", "line 257"),
    (b"YWI= " + b"9" * 5000 + b"\n", "line 257"),
    (b" 256\n", "line 257: b'' is not the base64 of a token"),
    (b"YWI= 255\n", "line 257: rank 255 appears twice"),
    (b"YWI= 256\nYWI= 257\n", "b'ab' appears twice, at ranks 256 and 257"),
    (b"YQ== 256\n", "b'a' appears twice, at ranks 97 and 256"),
    (b"\xff\xfe\n", "line 257"),
    (b"YWI=\x00256\n", "line 257"),
]


@pytest.mark.parametrize(("lines", "message"), BROKEN)
def test_a_broken_file_is_refused_with_its_place(
    lines: bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "broken.tiktoken"
    path.write_bytes(content(BASE) + lines)
    with pytest.raises(ValueError, match=message) as caught:
        Tokenizer.from_tiktoken(path, pattern="gpt2")
    assert str(caught.value).startswith(f"{path}: ")
    assert len(str(caught.value)) < 600


def test_a_file_without_every_byte_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "broken.tiktoken"
    for lines in (b"", content(BASE[:200])):
        path.write_bytes(lines)
        with pytest.raises(ValueError, match="no line holds the single byte"):
            Tokenizer.from_tiktoken(path, pattern="gpt2")


def test_special_tokens_and_patterns_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "tok.tiktoken"
    path.write_bytes(content(BASE))
    with pytest.raises(ValueError, match="id 5 is given twice"):
        Tokenizer.from_tiktoken(path, pattern="gpt2", special_tokens={"<x>": 5})
    with pytest.raises(TypeError, match="not one string"):
        Tokenizer.from_tiktoken(path, pattern="gpt2", special_tokens="<x>")
    with pytest.raises(ValueError, match="'<x>' is given twice"):
        Tokenizer.from_tiktoken(path, pattern="gpt2", special_tokens=["<x>", "<x>"])
    with pytest.raises(TypeError, match="not a set"):
        Tokenizer.from_tiktoken(path, pattern="gpt2", special_tokens={"<x>", "<y>"})  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        Tokenizer.from_tiktoken(path, pattern="(")


def vocabulary(
    tokens: Mapping[int, bytes], merges: Sequence[tuple[int, int]], **options: Any
) -> Vocabulary:
    return Vocabulary(dict(enumerate(BASE)) | dict(tokens), merges, **options)


@pytest.mark.parametrize(
    ("unfit", "message"),
    [
        (vocabulary({256: b"ab", 257: b"ab"}, [(97, 98)]), "two tokens of the same bytes"),
        (
            vocabulary({257: b"ab", 256: b"cd"}, [(97, 98), (99, 100)]),
            "another order .*to_huggingface",
        ),
        (vocabulary({256: b"abc"}, []), "no merge makes token 256"),
        (vocabulary({256: b"ab"}, []), "another order"),
        (vocabulary({}, [], normalization="NFC"), "cannot hold the normalization NFC"),
        (
            vocabulary({}, [], pattern=(r"\p{N}", r"\s+")),
            "one pattern, not by a sequence; .*to_huggingface",
        ),
    ],
)
def test_what_ranks_cannot_express_is_refused(
    unfit: Vocabulary, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        Tokenizer(unfit).to_tiktoken(tmp_path / "tok.tiktoken")
    with pytest.raises(ValueError, match=message):
        Tokenizer(unfit).to_tiktoken_encoding()
    assert list(tmp_path.iterdir()) == []


def test_a_merge_that_never_happens_is_no_obstacle(tmp_path: Path) -> None:
    tokens = {256: b"ab", 257: b"bc", 258: b"abc"}
    tok = Tokenizer(vocabulary(tokens, [(97, 98), (98, 99), (256, 99), (97, 257)]))
    tok.to_tiktoken(tmp_path / "tok.tiktoken")
    encoding = tok.to_tiktoken_encoding()
    for text in ("abc", "abcbcab", "bcabc"):
        assert encoding.encode(text) == tok.encode(text)


def test_specials_of_which_tiktoken_would_pick_any_are_refused() -> None:
    tok = Tokenizer(vocabulary({}, [], special_tokens={"<a>": 300, "<a>b": 301}))
    with pytest.raises(ValueError, match="which one wins"):
        tok.to_tiktoken_encoding()
    assert tok.as_tiktoken().encode("<a>b", allowed_special="all") == [301]


def test_an_existing_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "tok.tiktoken"
    path.write_text("precious")
    tok = Tokenizer.train("ab", 257)
    with pytest.raises(FileExistsError):
        tok.to_tiktoken(path)
    assert path.read_text() == "precious"
    tok.to_tiktoken(path, overwrite=True)
    assert Tokenizer.from_tiktoken(path, pattern="gpt2", special_tokens=["<|endoftext|>"]) == tok


def test_an_import_says_what_it_assumed(tmp_path: Path) -> None:
    (tmp_path / "t.tiktoken").write_bytes(content([*BASE, b"ab"]))
    read = Tokenizer.from_tiktoken(tmp_path / "t.tiktoken", pattern="o200k")
    said = " ".join(read.assumptions)
    assert "Unicode" in said
    assert "no special tokens" in said
    for derived in (
        pickle.loads(pickle.dumps(read)),
        read.truncate(256),
        read.extend(["xy xy"], add=1),
    ):
        assert derived.assumptions == read.assumptions
    read.save(tmp_path / "t.json")
    assert Tokenizer.load(tmp_path / "t.json") == read
    assert Tokenizer.load(tmp_path / "t.json").assumptions == ()


def test_dialects_of_imports_are_tiktokens() -> None:
    assert imported(BASE).dialect == Dialect.named("tiktoken")


# The interface of tiktoken.Encoding
# ------------------------------------------------------------------------


Call = Callable[[Any], object]

EOT, FIM = "<|endoftext|>", "<|fim|>"
CALLS: list[Call] = [
    lambda e: repr(e),
    lambda e: e.name,
    lambda e: e.n_vocab,
    lambda e: e.max_token_value,
    lambda e: e.eot_token,
    lambda e: e.special_tokens_set,
    lambda e: e.token_byte_values(),
    lambda e: e.encode("a" + EOT),
    lambda e: e.encode("abc the cat"),
    lambda e: e.encode(text="abc"),
    lambda e: e.encode("x" + EOT + FIM, allowed_special="all"),
    lambda e: e.encode("x" + EOT + FIM, allowed_special={EOT}),
    lambda e: e.encode("x" + EOT, allowed_special={EOT}),
    lambda e: e.encode("x" + EOT, allowed_special=frozenset({EOT, "<|other|>"})),
    lambda e: e.encode("x" + EOT + FIM + "y" + EOT, allowed_special={EOT}, disallowed_special=()),
    lambda e: e.encode("x" + EOT, disallowed_special=()),
    lambda e: e.encode("x" + EOT, disallowed_special={FIM}),
    lambda e: e.encode("x" + FIM, disallowed_special=[FIM]),
    lambda e: e.encode("hello world", disallowed_special=["world"]),
    lambda e: e.encode("x" + FIM, allowed_special="all", disallowed_special={FIM}),
    lambda e: e.encode("x" + FIM, disallowed_special=iter([FIM])),
    lambda e: e.encode("xbc", disallowed_special="abc"),
    lambda e: e.encode("x", disallowed_special={""}),
    lambda e: e.encode("x" + EOT, allowed_special=[EOT]),
    lambda e: e.encode("x", allowed_special="some"),
    lambda e: e.encode("<|x|>", allowed_special={"<|x|>"}),
    lambda e: e.encode("a\ud800b"),
    lambda e: e.encode("a\ud83d\ude00b"),
    lambda e: e.encode(5),
    lambda e: e.encode(None),
    lambda e: e.encode(b"ab"),
    lambda e: e.encode("x", {EOT}),
    lambda e: e.encode_ordinary("the cat" + EOT),
    lambda e: e.encode_ordinary("a\ud800b"),
    lambda e: e.encode_ordinary(None),
    lambda e: e.encode_to_numpy("the cat" + FIM, allowed_special="all"),
    lambda e: e.encode_to_numpy("the cat" + FIM, allowed_special={FIM}),
    lambda e: e.encode_to_numpy("the cat").dtype,
    lambda e: e.encode_to_numpy(""),
    lambda e: e.encode_to_numpy(FIM),
    lambda e: e.encode_to_numpy("a\ud800b"),
    lambda e: e.encode_batch(["the", "cat " + FIM], allowed_special="all"),
    lambda e: e.encode_batch(["the", "cat " + FIM], allowed_special={FIM}),
    lambda e: e.encode_batch(["the", "cat " + FIM]),
    lambda e: e.encode_batch(["the", "cat " + FIM], disallowed_special=[]),
    lambda e: e.encode_batch("abc"),
    lambda e: e.encode_batch([]),
    lambda e: e.encode_batch(["a\ud800b"]),
    lambda e: e.encode_batch(["a"], num_threads=0),
    lambda e: e.encode_batch(["a", "b"], num_threads=1),
    lambda e: e.encode_ordinary_batch(["the", "cat " + FIM]),
    lambda e: e.encode_ordinary_batch(["a\ud800b"], num_threads=2),
    lambda e: e.encode_ordinary_batch(["a"], num_threads=-1),
    lambda e: e.encode_single_token("a"),
    lambda e: e.encode_single_token(b"\xc3"),
    lambda e: e.encode_single_token(FIM),
    lambda e: e.encode_single_token(FIM.encode()),
    lambda e: e.encode_single_token("no such token"),
    lambda e: e.encode_single_token(b"no such token"),
    lambda e: e.encode_single_token(""),
    lambda e: e.encode_single_token(5),
    lambda e: e.encode_single_token("\ud800"),
    lambda e: e.decode([97, 98, 195]),
    lambda e: e.decode([97, 98, e.eot_token]),
    lambda e: e.decode((97, 98)),
    lambda e: e.decode([]),
    lambda e: e.decode([True]),
    lambda e: e.decode(np.array([97, 98], np.uint32)),
    lambda e: e.decode(np.array([97, 98])),
    lambda e: e.decode([195], errors="strict"),
    lambda e: e.decode([195], "ignore"),
    lambda e: e.decode([195], errors="no such handler"),
    lambda e: e.decode([97, 10**6]),
    lambda e: e.decode([2**40]),
    lambda e: e.decode([2**32 - 1]),
    lambda e: e.decode([-1]),
    lambda e: e.decode([1.5]),
    lambda e: e.decode("ab"),
    lambda e: e.decode(5),
    lambda e: e.decode({97}),
    lambda e: e.decode(iter([97])),
    lambda e: e.decode_bytes([97, 195]),
    lambda e: e.decode_bytes([10**6]),
    lambda e: e.decode_single_token_bytes(97),
    lambda e: e.decode_single_token_bytes(e.eot_token),
    lambda e: e.decode_single_token_bytes(10**6),
    lambda e: e.decode_single_token_bytes(-1),
    lambda e: e.decode_single_token_bytes(2**40),
    lambda e: e.decode_single_token_bytes("a"),
    lambda e: e.decode_tokens_bytes([97, e.eot_token]),
    lambda e: e.decode_tokens_bytes([97, 10**6]),
    lambda e: e.decode_with_offsets([]),
    lambda e: e.decode_with_offsets(e.encode("the cat, naïve 東京 👩‍👩‍👧 e\u0301")),
    lambda e: e.decode_with_offsets([e.eot_token, 195, 169, 97]),
    lambda e: e.decode_with_offsets([195]),
    lambda e: e.decode_with_offsets([169]),
    lambda e: e.decode_with_offsets([10**6]),
    lambda e: e.decode_batch([[97], [195]]),
    lambda e: e.decode_batch([[97], [195]], errors="strict", num_threads=1),
    lambda e: e.decode_batch([[97], [10**6]]),
    lambda e: e.decode_batch([[97]], num_threads=0),
    lambda e: e.decode_bytes_batch([[97], [195]]),
    lambda e: e.decode_bytes_batch([[10**6]]),
    lambda e: e.is_special_token(e.eot_token),
    lambda e: e.is_special_token(97),
    lambda e: e.is_special_token(10**9),
    lambda e: e.is_special_token("a"),
    lambda e: pickle.loads(pickle.dumps(e)).encode("the cat" + FIM, allowed_special="all"),
    lambda e: repr(pickle.loads(pickle.dumps(e))),
]


def outcome(call: Call, encoding: object) -> object:
    """What a call returns or raises, in a form that can be compared."""
    try:
        result = call(encoding)
    except (Exception, AssertionError) as raised:  # whatever tiktoken raises is expected
        arguments = raised.args if isinstance(raised, (KeyError, UnicodeError)) else ()
        first_line = str(raised).split("\n")[0] if "disallowed special token" in str(raised) else ""
        return type(raised), arguments, first_line
    return result.tolist() if isinstance(result, np.ndarray) else result


@pytest.mark.parametrize("call", CALLS)
def test_every_call_does_what_tiktokens_does(call: Call) -> None:
    tok = Tokenizer.train_from_iterator(
        [CORPUS], 400, dialect="tiktoken", special_tokens=[EOT, FIM]
    )
    theirs = tok.to_tiktoken_encoding("one")
    assert outcome(call, tok.as_tiktoken("one")) == outcome(call, theirs)


@pytest.mark.parametrize("pattern", ["gpt2", "o200k", "[a-z]+"])
def test_an_encoding_is_extended_as_tiktokens_documentation_shows(pattern: str) -> None:
    tok = Tokenizer.train_from_iterator([CORPUS], 400, dialect="tiktoken", pattern=pattern)
    enc: Any = tok.as_tiktoken()
    extended = tiktoken.Encoding(
        name="chat",
        pat_str=enc._pat_str,
        mergeable_ranks=enc._mergeable_ranks,
        special_tokens={**enc._special_tokens, "<|im_start|>": enc.n_vocab},
    )
    assert extended.encode_ordinary(CORPUS) == tok.encode_ordinary(CORPUS)
    text = f"<|im_start|>{CORPUS}{EOT}"
    assert extended.encode(text, allowed_special="all") == [enc.n_vocab, *tok.encode(CORPUS + EOT)]
    assert Tokenizer.load(extended).encode(text) == extended.encode(text, allowed_special="all")


def test_what_tiktoken_cannot_express_is_not_given_for_extension() -> None:
    tokens = {byte: bytes([byte]) for byte in range(256)}
    tokens |= {256: b"ab", 257: b"abb", 258: b"bb", 259: b"abb"}
    merges = [(97, 98), (256, 98), (98, 98), (97, 258)]
    enc: Any = Tokenizer(Vocabulary(tokens, merges)).as_tiktoken()
    with pytest.raises(ValueError, match="cannot hold two tokens of the same bytes"):
        _ = enc._mergeable_ranks


def test_without_an_end_of_text_token_there_is_no_eot_token() -> None:
    tok = Tokenizer.train_from_iterator([CORPUS], 300, dialect="tiktoken", special_tokens=[])
    for encoding in (tok.as_tiktoken(), tok.to_tiktoken_encoding()):
        assert encoding.special_tokens_set == set()
        with pytest.raises(KeyError, match="endoftext"):
            _ = encoding.eot_token


def test_the_interface_is_whole() -> None:
    theirs = {name for name in dir(tiktoken.Encoding) if not name.startswith("_")}
    ours = dir(Tokenizer.train("ab", 257).as_tiktoken())
    assert theirs - set(ours) == {"encode_with_unstable"}


@pytest.mark.parametrize("name", list(PATTERNS))
def test_a_named_pattern_that_is_spelled_out_is_the_same(tmp_path: Path, name: str) -> None:
    spelled = PATTERNS[name]
    assert same_pattern(read_pattern(spelled, "rust"), spelled)
    tok = Tokenizer.train_from_iterator([CORPUS], 300, pattern=name)
    tok.to_tiktoken(tmp_path / "t.tiktoken")
    again = Tokenizer.from_tiktoken(
        tmp_path / "t.tiktoken", pattern=tok.pattern, special_tokens=tok.special_tokens
    )
    assert (again.pattern, again.fingerprint) == (spelled, tok.fingerprint)


def given_back(path: Path, spelled: str) -> str | None:
    """Return the pattern as we write it, or nothing if it is refused."""
    try:
        return str(Tokenizer.from_tiktoken(path, pattern=spelled).pattern)
    except ValueError:
        return None


@given(rng=st.randoms(use_true_random=False), syntax=st.sampled_from(["rust", "oniguruma"]))
def test_no_pattern_becomes_another_by_being_given_as_it_is_spelled_here(
    tmp_path_factory: pytest.TempPathFactory, rng: random.Random, syntax: Syntax
) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes.tiktoken"
    path.write_bytes(content(BASE))
    try:
        spelled = read_pattern(Grammar(rng, syntax).choice(), syntax)
    except ValueError:
        return
    found = given_back(path, spelled)
    assert found is None or same_pattern(found, spelled)


@pytest.mark.parametrize(
    "spelled",
    ["(?>a??|b)", r"a(?![\s\S])", r"[A-Za-z]+", r"\p{Alphabetic}+", r"\s++$|\S", r"\p{N}{1,3}+"],
)
def test_what_both_read_the_same_is_taken_as_it_is_spelled(tmp_path: Path, spelled: str) -> None:
    (tmp_path / "t.tiktoken").write_bytes(content(BASE))
    assert given_back(tmp_path / "t.tiktoken", spelled) == spelled


@pytest.mark.parametrize("spelled", ["a$", r"a\z", "a*"])
def test_what_tiktoken_reads_as_another_pattern_than_we_is_refused(
    tmp_path: Path, spelled: str
) -> None:
    (tmp_path / "t.tiktoken").write_bytes(content(BASE))
    with pytest.raises(
        ValueError, match=r"t\.tiktoken: pattern .* has another meaning in tiktoken"
    ):
        Tokenizer.from_tiktoken(tmp_path / "t.tiktoken", pattern=spelled)


def test_what_only_tiktoken_reads_is_taken_for_its_own(tmp_path: Path) -> None:
    (tmp_path / "t.tiktoken").write_bytes(content(BASE))
    assert given_back(tmp_path / "t.tiktoken", "[a-z&&[^b]]+") == "(?:(?=[a-z])[^b])+"


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_lines_in_any_order_are_the_same_tokens(end: bytes) -> None:
    lines = [b"%s %d" % (base64.b64encode(bytes([byte])), byte) for byte in range(256)]
    lines += [b"YWI= 300", b"= 400"]
    plain = files.parse("a", b"\n".join(lines), "gpt2").vocabulary
    assert files.parse("a", b"\n".join(reversed(lines)) + end, "gpt2").vocabulary == plain
    assert (plain.tokens[300], plain.decode_only) == (b"ab", {400: b""})


def test_models_have_the_encodings_of_tiktoken() -> None:
    prefixes = tiktoken.model.MODEL_PREFIX_TO_ENCODING
    for name in [*tiktoken.model.MODEL_TO_ENCODING, *prefixes, *(f"{one}-x" for one in prefixes)]:
        assert stand_in.encoding_name_for_model(name) == tiktoken.encoding_name_for_model(name), (
            name
        )
    for name in ("gpt-9", "gpt-3", "adalbert", "cl100k_base", ""):
        for call in (stand_in.encoding_name_for_model, tiktoken.encoding_name_for_model):
            with pytest.raises(KeyError):
                call(name)
    assert stand_in.list_encoding_names() == tiktoken.list_encoding_names()


@pytest.fixture
def published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], tiktoken.Encoding]:
    """Let small ranks of ours be the published files, in the cache; return how tiktoken makes encodings."""
    ranks = files.to_bytes(
        Tokenizer.train_from_iterator(["the cat"] * 9, 259, special_tokens=[]).vocabulary
    )
    known = {one.name: (sha, one) for sha, one in PUBLISHED.items()}

    def read(url: str, expected_hash: str) -> dict[bytes, int]:
        name = url.rpartition("/")[2].removesuffix(".tiktoken")
        assert expected_hash == known[name][0]
        (tmp_path / hashlib.sha1(url.encode()).hexdigest()).write_bytes(ranks)
        monkeypatch.setattr(files, "PUBLISHED", {hashlib.sha256(ranks).hexdigest(): known[name][1]})
        return tiktoken.load.load_tiktoken_bpe(url)

    monkeypatch.setattr("tiktoken_ext.openai_public.load_tiktoken_bpe", read)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))

    def made(name: str) -> tiktoken.Encoding:
        settings = (tiktoken.registry.ENCODING_CONSTRUCTORS or {})[name]()
        return tiktoken.Encoding(
            **{key: settings[key] for key in settings if key != "explicit_n_vocab"}
        )

    return made


@pytest.mark.parametrize(
    "name", [name for name in tiktoken.list_encoding_names() if name != "gpt2"]
)
def test_an_encoding_of_the_cache_is_that_of_tiktoken(
    name: str, published: Callable[[str], tiktoken.Encoding]
) -> None:
    theirs = published(name)
    ours = stand_in.get_encoding(name)
    assert (ours.name, ours.n_vocab) == (theirs.name, theirs.n_vocab)
    allowed = theirs.special_tokens_set - {"<|reserved_200018|>"}  # a second name of one id
    assert ours.special_tokens_set == allowed
    for text in [*TEXTS, *allowed]:
        for special in (set(), allowed):
            how: Any = {"allowed_special": special, "disallowed_special": ()}
            assert ours.encode(text, **how) == theirs.encode(text, **how)
    assert stand_in.get_encoding(name) is ours


def test_gpt2s_two_files_are_an_encoding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tok = Tokenizer.train_from_iterator(["the cat and the hat"], 270, dialect="huggingface")
    tok.to_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")
    with pytest.raises(ValueError, match=r"vocab\.json: it is not the published file of gpt2"):
        stand_in.get_encoding("gpt2", tmp_path)
    r50k = next(one for one in PUBLISHED.values() if one.name == "r50k_base")
    ranks = files.to_bytes(Tokenizer.load(tmp_path).vocabulary)
    monkeypatch.setattr(files, "PUBLISHED", {hashlib.sha256(ranks).hexdigest(): r50k})
    encoding = stand_in.encoding_for_model("gpt2", tmp_path)
    assert encoding.encode("the hat") == tok.encode("the hat")
    assert encoding.eot_token == 50256


def test_an_encoding_that_is_not_there_says_what_to_get(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(tmp_path))
    url = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"
    with pytest.raises(FileNotFoundError) as missing:
        stand_in.get_encoding("cl100k_base")
    assert str(missing.value) == (
        f"{tmp_path}: cl100k_base.tiktoken is not there; get it from {url}, or name its folder"
    )
    with pytest.raises(ValueError, match="unknown encoding 'cl100k'; the known ones are gpt2, "):
        stand_in.get_encoding("cl100k")
