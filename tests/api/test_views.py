"""A tokenizer as its users look into it: a vocabulary by spelling, a length, further tokens."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import tokenizers

from bpetite import Tokenizer
from test_sentencepiece import TRAININGS, document, trained, written
from test_templates import PROCESSORS, write

TEXT = "the cat sat on the mat, the cat sat on the hat"
TRAINED = Tokenizer.train(TEXT, 270)


def test_a_vocabulary_is_spelled_as_tokenizers_spells_it(tmp_path: Path) -> None:
    TRAINED.to_huggingface(tmp_path / "tokenizer.json")
    for path in (
        tmp_path / "tokenizer.json",
        write(tmp_path, PROCESSORS["RoBERTa's"]),
        written(document(trained("llama"), "Llama 2"), tmp_path),
    ):
        theirs, ours = tokenizers.Tokenizer.from_file(str(path)), Tokenizer.load(path)
        assert ours.get_vocab() == theirs.get_vocab()
        assert len(ours) == ours.vocab_size == theirs.get_vocab_size()
        for token in [*theirs.get_vocab(), "absent", ""]:
            assert ours.token_to_id(token) == theirs.token_to_id(token)
        assert pickle.loads(pickle.dumps(ours)).get_vocab() == theirs.get_vocab()
    assert TRAINED.get_vocab() == {**TRAINED.get_vocab()}
    TRAINED.get_vocab().clear()
    assert len(TRAINED.get_vocab()) == len(TRAINED) == 271


@pytest.mark.parametrize("name", TRAININGS)
def test_pieces_are_spelled_as_sentencepiece_spells_them(name: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.model"
    path.write_bytes(trained(name))
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(path))
    tok = Tokenizer.load(path)
    pieces = {theirs.id_to_piece(number): number for number in range(theirs.get_piece_size())}
    assert pieces["<0x0A>"] == theirs.piece_to_id("<0x0A>")
    assert tok.get_vocab() == pieces
    tok.save(tmp_path / "tok.json")
    assert Tokenizer.load(tmp_path / "tok.json").get_vocab() == pieces


ADDED_TEXTS = ["the <new> cat", "<new><new>", " <new>", "a<new>b", "<new>\n\n<new>  z", "the cat"]


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("setting", ["Llama 2", "Llama 2, tokens normalized", "Gemma"])
def test_tokens_are_added_to_tokens_of_characters_as_tokenizers_adds_them(
    setting: str, special: bool, tmp_path: Path
) -> None:
    path = written(document(trained("llama"), setting), tmp_path)
    theirs, tok = tokenizers.Tokenizer.from_file(str(path)), Tokenizer.load(path)
    names = ["<new>", "<other>"]
    theirs.add_special_tokens(names) if special else theirs.add_tokens(names)
    larger = tok.add_tokens(names, special=special)
    larger.to_huggingface(tmp_path / "again.json")
    for same in (
        larger,
        Tokenizer.load(tmp_path / "again.json"),
        pickle.loads(pickle.dumps(larger)),
    ):
        assert same.get_vocab() == theirs.get_vocab()
        assert len(same) == theirs.get_vocab_size()
        for text in ADDED_TEXTS:
            assert same.encode(text) == theirs.encode(text).ids, text
    with pytest.raises(ValueError, match="<0x0A>"):
        tok.add_tokens(["<0x0A>"])


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("name", TRAININGS)
def test_tokens_are_added_to_a_model_of_sentencepiece(
    name: str, special: bool, tmp_path: Path
) -> None:
    path = tmp_path / "tokenizer.model"
    path.write_bytes(trained(name))
    tok = Tokenizer.load(path)
    larger = tok.add_tokens(["<new>", "<s>" if special else "<other>"], special=special)
    new_id = tok.largest_id + 1
    assert larger.token_to_id("<new>") == new_id
    new_ids = {
        text: own for text, own in larger.special_tokens.items() if text not in tok.special_tokens
    }
    assert larger.get_vocab() == tok.get_vocab() | new_ids
    for text in TEXT, "caté 東 \U0001f600\n":
        assert larger.encode(text) == tok.encode(text)
    encoded = larger.encode("the<new>the")
    assert encoded.count(new_id) == 1
    assert encoded[: encoded.index(new_id)] == tok.encode("the")
    assert larger.decode(encoded) == "the<new>the"
    larger.save(tmp_path / "tok.json")
    assert Tokenizer.load(tmp_path / "tok.json") == larger
    with pytest.raises(ValueError, match="is the name of token"):
        tok.add_tokens(["<0x0A>"])


def test_a_tokenizer_is_true_and_contains_its_tokens() -> None:
    assert bool(Tokenizer.train("", 256)) is True
    for token in (" the", b" the", "<|endoftext|>", b"\xff"):
        assert token in TRAINED
    for token in (" thus", b" thus", "<|x|>", ""):
        assert token not in TRAINED
    wrong_types: list[Any] = [5, None, ["a"]]
    for wrong in wrong_types:
        with pytest.raises(TypeError, match=r"^a token is a str or bytes, not "):
            _ = wrong in TRAINED
        with pytest.raises(TypeError, match=r"^token must be a str, not "):
            TRAINED.token_to_id(wrong)


@pytest.mark.parametrize("special", [False, True])
def test_added_tokens_are_found_as_tokenizers_finds_them(special: bool, tmp_path: Path) -> None:
    path = write(tmp_path, PROCESSORS["RoBERTa's"])
    theirs, ours = tokenizers.Tokenizer.from_file(str(path)), Tokenizer.load(path)
    names = ["<new>", "cat", "<new><new>", "</s>" if special else "<old>"]
    listed = [tokenizers.AddedToken(name, normalized=False, special=special) for name in names]
    theirs.add_special_tokens(listed) if special else theirs.add_tokens(listed)
    larger = ours.add_tokens(names, special=special)
    assert "<new>" not in ours.special_tokens
    assert larger.add_tokens(names, special=special) == larger
    larger.to_huggingface(tmp_path / "again.json")
    for tok in (larger, Tokenizer.load(tmp_path / "again.json")):
        assert tok.get_vocab() == theirs.get_vocab()
        for text in ("the <new> cat", "<new><new><new>", "</s>scat<old>"):
            ids = theirs.encode(text).ids
            assert tok.encode(text, add_special_tokens=True) == ids
            assert tok.decode(ids, skip_special=True) == theirs.decode(ids)
    assert larger.template == ours.template
    kept = larger.encode("<new>", special="text", add_special_tokens=False)
    assert (len(kept) == 1) is not special
    with pytest.raises(ValueError, match=f"which is {'special' if special else 'not special'}"):
        larger.add_tokens(["<new>"], special=not special)


def test_what_are_no_tokens_is_refused() -> None:
    wrong_types: list[tuple[Any, str]] = [
        ("<x>", "not one"),
        (5, "an iterable of str"),
        ([5], "an iterable of str"),
    ]
    for wrong, message in wrong_types:
        with pytest.raises(TypeError, match=f"^tokens .*{message}"):
            TRAINED.add_tokens(wrong)
    with pytest.raises(TypeError, match=r"^special must be a bool, not str$"):
        TRAINED.add_tokens(["<x>"], special="yes")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="non-empty"):
        TRAINED.add_tokens([""])


def test_batches_are_decoded_the_same_by_any_number_of_threads() -> None:
    texts = [TEXT * 200, "", "<|endoftext|>a", "é"] * 40
    rows = TRAINED.encode_batch(texts)
    for count in (None, 1, 3):
        assert TRAINED.decode_batch(rows, num_threads=count) == texts
        arrays = [np.array(row, np.uint32) for row in rows]
        assert TRAINED.decode_batch(iter(arrays), num_threads=count) == texts
    assert TRAINED.decode_batch(rows[:3], skip_special=True)[2] == "a"
    assert TRAINED.decode_batch([[0xC3], [97]], errors="replace", num_threads=2) == ["\ufffd", "a"]
    for wrong in (0, -1, 1.5, True):
        with pytest.raises((TypeError, ValueError), match="num_threads"):
            TRAINED.decode_batch([[97]], num_threads=wrong)  # type: ignore[arg-type]


def test_a_stream_replaces_what_is_no_text_unless_it_is_told_otherwise() -> None:
    stream = TRAINED.decode_stream()
    assert [stream.push(number) for number in (97, 0xC3, 0xA9, 0xFF, 98, 0xC3)] == [
        *("a", "", "é", "\ufffd", "b", "")
    ]
    assert stream.finish() == "\ufffd"
    with pytest.raises(UnicodeDecodeError):
        TRAINED.decode_stream(errors="strict").push(0xFF)


def test_ids_and_texts_around_a_text_are_taken_of_every_kind_and_others_refused() -> None:
    end = TRAINED.special_tokens["<|endoftext|>"]
    plain = TRAINED.encode("the")
    same: list[Any] = [
        *(
            end,
            np.int64(end),
            np.uint16(end),
            np.array(end),
            "<|endoftext|>",
            np.str_("<|endoftext|>"),
        ),
        *([end], (end,), np.array([end]), np.array(["<|endoftext|>"]), iter([end])),
    ]
    for token in same:
        assert TRAINED.encode("the", prepend=token)[0] == end
    assert TRAINED.encode("the", prepend=np.array([0])) == [0, *plain]
    mixed: list[Any] = [np.int8(97), "<|endoftext|>"]
    assert TRAINED.encode_batch(["the"], append=mixed) == [[*plain, 97, end]]
    wrong: list[tuple[Any, type[Exception], str]] = [
        *(
            (token, TypeError, "a token is an id or")
            for token in (b"<s>", 1.5, True, [1.5], np.array([True]))
        ),
        *((token, TypeError, "in an order") for token in ({1}, {1: 2})),
        *((token, KeyError, "no token has the id") for token in (-1, 10**6, 2**70, np.int64(-5))),
        ("<x>", ValueError, "'<x>' is not a special token"),
    ]
    for token, kind, message in wrong:
        for call in (TRAINED.encode, lambda text, **how: TRAINED.encode_batch([text], **how)):
            for name in ("prepend", "append"):
                with pytest.raises(kind, match=f"{name}.*{message}"):
                    call("the", **{name: token})
