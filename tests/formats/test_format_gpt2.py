"""`vocab.json` and `merges.txt` against tokenizers, which reads the same two files."""

import json
import string
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from bpetite import Tokenizer, Vocabulary, cs336
from bpetite.dialect import DIALECTS
from bpetite.formats import gpt2
from bpetite.formats.shared import printable
from bpetite.formats.shared.difficult import DIFFICULT_TEXTS
from bpetite.formats.shared.imported import Original, read_files
from bpetite.formats.shared.peers import peer_of
from known_characters import known_text
from standard_library import standard_library_files

TEXTS = [*DIFFICULT_TEXTS, *(path.read_text("utf-8") for path in standard_library_files()[::200])]
BASE = {byte: bytes([byte]) for byte in range(256)}


def gpt2_encode(
    vocab: Path, merges: Path, vocabulary: Vocabulary
) -> Callable[[str], Sequence[int]]:
    original = Original("gpt2", {path.name: path.read_bytes() for path in (vocab, merges)})
    found = peer_of(original, vocabulary)
    assert found is not None
    return found.encode


@pytest.fixture(scope="module", params=list(DIALECTS))
def tok(request: pytest.FixtureRequest) -> Tokenizer:
    specials = ["<|endoftext|>", "<é>"]
    return Tokenizer.train_from_iterator(TEXTS, 900, dialect=request.param, special_tokens=specials)


def test_the_files_give_the_same_ids_here_and_there(tok: Tokenizer, tmp_path: Path) -> None:
    files = tmp_path / "vocab.json", tmp_path / "merges.txt"
    tok.to_gpt2(*files)
    again = Tokenizer.from_gpt2(*files, special_tokens=["<|endoftext|>", "<é>"])
    assert again.fingerprint == tok.fingerprint
    encode = gpt2_encode(*files, tok.vocabulary)
    for text in [*TEXTS, "a<é>b<|endoftext|>"]:
        assert list(encode(text)) == tok.encode(text)
    again.to_gpt2(tmp_path / "v.json", tmp_path / "m.txt")
    assert (tmp_path / "v.json").read_bytes() == files[0].read_bytes()
    assert (tmp_path / "m.txt").read_bytes() == files[1].read_bytes()


@settings(max_examples=50)
@given(known_text())
def test_any_text_gets_the_same_ids(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    if not _KEPT:
        folder = tmp_path_factory.mktemp("gpt2")
        trained = Tokenizer.train_from_iterator(TEXTS, 700)
        trained.to_gpt2(folder / "v", folder / "m")
        _KEPT.append((trained, gpt2_encode(folder / "v", folder / "m", trained.vocabulary)))
    trained, encode = _KEPT[0]
    assert trained.encode(text) == list(encode(text))


_KEPT: list[tuple[Tokenizer, Callable[[str], Any]]] = []


def test_special_tokens_are_found_in_the_vocabulary_or_follow_it(tmp_path: Path) -> None:
    files = tmp_path / "vocab.json", tmp_path / "merges.txt"
    ids = {printable.to_printable(token): token_id for token_id, token in BASE.items()}
    files[1].write_text("#version: 0.2\n")
    files[0].write_text(json.dumps(ids))
    assert Tokenizer.from_gpt2(*files).special_tokens == {}
    assert Tokenizer.from_gpt2(*files, special_tokens=["<a>"]).special_tokens == {"<a>": 256}
    files[0].write_text(
        json.dumps(
            ids | {"<|endoftext|>": 256, "<ā b>": 300, printable.to_printable("<ü>".encode()): 299}
        )
    )
    says = "1 of the tokens, such as '<ā b>', have characters that stand for no byte"
    assert any(said.startswith(says) for said in Tokenizer.from_gpt2(*files).assumptions)
    tok = Tokenizer.from_gpt2(*files, special_tokens=["<ā b>", "<|endoftext|>", "<ü>", "<new>"])
    assert tok.special_tokens == {"<ā b>": 300, "<|endoftext|>": 256, "<ü>": 299, "<new>": 301}
    said = " ".join(read_files("gpt2", gpt2.parse, files, ["<ā b>"]).assumptions)
    assert "which tokens are special" not in said
    assert "GPT-2's is used" in said


VOCAB = json.dumps(
    {printable.to_printable(token): token_id for token_id, token in BASE.items()}
    | {"ab": 256, "abc": 257}
)


@pytest.mark.parametrize(
    ("vocab", "merges", "message"),
    [
        ("", "", "vocab.json: it is empty"),
        ("[]", "", "vocab.json: a vocab.json is one JSON object"),
        ("[" * 100_000, "", "nested too deeply"),
        ('{"a": 1, "a": 2}', "", "'a' appears twice"),
        ('{"a": 1.0}', "", "the id of 'a' is 1.0"),
        ('{"a": true}', "", "the id of 'a' is True"),
        ('{"a": -1}', "", "the id of 'a' is -1"),
        ('{"a": 4294967295}', "", "the id of 'a' is 4294967295"),
        ('{"a": ' + "9" * 3000 + "}", "", "the id of 'a' is 999"),
        ('{"a": 1, "b": 1}', "", "id 1 is given to 'a' and 'b'"),
        (VOCAB, "a b c", "line 1: 'a b c' is not a pair of tokens"),
        (VOCAB, "#version: 0.2\na b\nab", "line 3: 'ab' is not a pair of tokens"),
        (VOCAB, "a b\n\tx", "line 2: .* is not a pair of tokens"),
        (VOCAB, "#version: 0.2\na b\n#x y", "line 3 is made of '#x', which is not a token"),
        (VOCAB, "a b\nb c", "line 2 makes 'bc', which is not a token"),
    ],
)
def test_broken_files_are_refused_with_the_place(
    vocab: str, merges: str, message: str, tmp_path: Path
) -> None:
    files = tmp_path / "vocab.json", tmp_path / "merges.txt"
    files[0].write_text(vocab)
    files[1].write_text(merges)
    with pytest.raises(ValueError, match=message) as caught:
        Tokenizer.from_gpt2(*files)
    assert len(str(caught.value)) < 500
    files[1].write_bytes(b"a b\n\xff")
    files[0].write_text(VOCAB)
    with pytest.raises(ValueError, match="not valid UTF-8 at byte 4"):
        Tokenizer.from_gpt2(*files)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ("<a>", TypeError),
        ({"<a>": 300}, TypeError),
        ({"<a>", "<b>"}, TypeError),
        (["<a>", "<a>"], ValueError),
        ([""], ValueError),
        ([5], TypeError),
    ],
)
def test_special_tokens_are_a_list_of_different_strings(
    tok: Tokenizer, tmp_path: Path, wrong: Any, error: type[Exception]
) -> None:
    files = tmp_path / "vocab.json", tmp_path / "merges.txt"
    tok.to_gpt2(*files)
    with pytest.raises(error, match="special"):
        Tokenizer.from_gpt2(*files, special_tokens=wrong)


def test_an_empty_token_is_kept_and_no_text_gets_it(tmp_path: Path) -> None:
    files = tmp_path / "vocab.json", tmp_path / "merges.txt"
    Tokenizer.train_from_iterator(TEXTS, 600).to_gpt2(*files)
    ids = json.loads(files[0].read_bytes())
    files[0].write_text(json.dumps(ids | {"": len(ids)}), "utf-8")
    tok = Tokenizer.load(tmp_path)
    encode = gpt2_encode(*files, tok.vocabulary)
    assert all(tok.encode(text) == list(encode(text)) for text in TEXTS)
    assert tok.decode([len(ids)]) == ""
    changed = tmp_path / "v.json", tmp_path / "m.txt"
    Tokenizer(tok.vocabulary).to_gpt2(*changed)
    assert Tokenizer.from_gpt2(*changed) == Tokenizer.from_gpt2(*files)


def test_an_import_says_what_it_assumed(tmp_path: Path) -> None:
    files = tmp_path / "vocab.json", tmp_path / "merges.txt"
    Tokenizer.train_from_iterator(["ab"], 258, dialect="huggingface").to_gpt2(*files)
    said = " ".join(Tokenizer.from_gpt2(*files).assumptions)
    for words in (
        "GPT-2's is used",
        "which tokens are special; assumed: '<|endoftext|>'",
        "Unicode",
    ):
        assert words in said


def test_lines_may_end_as_they_do_elsewhere(tmp_path: Path) -> None:
    files = tmp_path / "vocab.json", tmp_path / "merges.txt"
    files[0].write_text(VOCAB)
    files[1].write_bytes(b"#version: 0.2\r\na b\r\n\r\nab c")
    assert Tokenizer.from_gpt2(*files).encode("abc") == [257]


@pytest.mark.parametrize(
    ("unfit", "message"),
    [
        (Vocabulary(BASE, [], pattern=r"\S+|\s+"), "to_huggingface can hold it"),
        (Vocabulary(BASE, [], normalization="NFC"), "cannot hold the normalization NFC"),
        (Vocabulary(BASE, [], whole_pretoken_first=True), "whole pretoken"),
        (Vocabulary(BASE | {256: b"ab", 257: b"ab"}, [(97, 98)]), "two tokens of the same bytes"),
        (Vocabulary(BASE, [], {"a": 256}), "spelled like token 97"),
    ],
)
def test_what_the_files_cannot_express_is_refused(
    unfit: Vocabulary, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        Tokenizer(unfit).to_gpt2(tmp_path / "v", tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_neither_file_is_written_where_one_exists(tmp_path: Path) -> None:
    (tmp_path / "m").write_text("precious")
    tok = Tokenizer.train("ab", 257)
    with pytest.raises(FileExistsError):
        tok.to_gpt2(tmp_path / "v", tmp_path / "m")
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    tok.to_gpt2(tmp_path / "v", tmp_path / "m", overwrite=True)
    assert Tokenizer.from_gpt2(tmp_path / "v", tmp_path / "m") == tok


# Files that do not belong together
# -----------------------------------------------------------------------


def superwords(tmp_path: Path, count: int) -> tuple[Path, Path]:
    """The two files of a vocabulary of which `count` tokens reach across words."""
    letters = string.ascii_lowercase
    corpus = "".join(f" {one}{two}" for one in letters for two in letters)
    tok = Tokenizer.train_from_iterator([corpus * 2], 856, dialect="huggingface", special_tokens=[])
    tokens, merges = dict(tok.vocabulary.tokens), list(tok.vocabulary.merges)
    words = [token_id for token_id, token in tokens.items() if len(token) == 3]
    for one, other in pairwise(words[: count + 1]):
        tokens[len(tokens)] = tokens[one] + tokens[other]
        merges.append((one, other))
    files = tmp_path / "vocab.json", tmp_path / "merges.txt"
    cs336.save(tokens, [(tokens[left], tokens[right]) for left, right in merges], *files)
    return files


def test_a_vocabulary_that_the_assumed_pattern_cuts_is_refused(tmp_path: Path) -> None:
    """As one of SuperBPE, whose tokens reach across words; none of GPT-2's is cut."""
    files = superwords(tmp_path, 60)
    says = r"GPT-2's pattern would cut 60 of \d+ tokens, such as ' \w+ \w+': the model has another pattern"
    for path in (tmp_path, *files):
        with pytest.raises(ValueError, match=says) as refused:
            Tokenizer.load(path)
        assert str(refused.value).startswith(str(files[0]))
    with pytest.raises(ValueError, match=says):
        Tokenizer.from_gpt2(*files)
    given = Tokenizer.load(tmp_path, pattern="none")
    assert all(
        given.encode(token.decode()) == [token_id]
        for token_id, token in list(given.vocabulary.tokens.items())[-60:]
    )


def test_a_few_tokens_that_no_text_becomes_are_read(tmp_path: Path) -> None:
    superwords(tmp_path, 5)
    assert Tokenizer.load(tmp_path).vocab_size == 861
    vocab = json.loads((tmp_path / "vocab.json").read_text("utf-8"))
    vocab |= {f"madeupword000{number}": 900 + number for number in range(3)}
    (tmp_path / "vocab.json").write_text(json.dumps(vocab))
    [said] = [said for said in Tokenizer.load(tmp_path).assumptions if "no merge creates" in said]
    assert said.startswith(
        "no merge creates 3 of the tokens, such as 'madeupword0000', so no text gets"
    )
    lines = (tmp_path / "merges.txt").read_text("utf-8").splitlines(keepends=True)
    for kept in (0, 100, len(lines) // 2):
        (tmp_path / "merges.txt").write_text("".join(lines[:kept]), encoding="utf-8")
        with pytest.raises(
            ValueError,
            match=r"merges\.txt: no merge creates \d+ of the tokens, .*: the file is cut off, or",
        ):
            Tokenizer.load(tmp_path)
