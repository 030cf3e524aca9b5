"""Copies and pickles of accelerated tokenizers: they share what cannot change, and nothing else."""

import copy
import json
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
import tokenizers
from tokenizers import (
    AddedToken,
    Regex,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from bpetite import accelerate
from bpetite.interfaces.huggingface import HuggingFaceTokenizer
from test_huggingface_interface import a_real_one
from test_transformers import TEXTS, file_of, wrapped

KINDS = ["bytes", "Llama 2"]
PAIRS = list(zip(TEXTS, reversed(TEXTS), strict=True))


def real_of(kind: str) -> Any:
    return tokenizers.Tokenizer.from_str(file_of(kind))


def all_of(tok: Any) -> list[Any]:
    """What a tokenizer does with texts, and what it says of itself."""
    encodings = [*tok.encode_batch(TEXTS), *tok.encode_batch(PAIRS), tok.encode(TEXTS[1])]
    rows = [encoding.ids for encoding in encodings]
    added = tok.get_added_tokens_decoder()
    return [
        [(one.ids, one.tokens, one.offsets, one.attention_mask) for one in encodings],
        [tok.decode(row, skip_special_tokens=False) for row in rows],
        tok.decode_batch(rows),
        tok.get_vocab(),
        tok.get_vocab(False),
        (tok.get_vocab_size(), tok.get_vocab_size(with_added_tokens=False)),
        [(number, repr(token)) for number, token in added.items()],
        [tok.num_special_tokens_to_add(is_pair) for is_pair in (False, True)],
        (tok.padding, tok.truncation, tok.encode_special_tokens),
        json.loads(tok.to_str()),
    ]


def of_part(name: str, attribute: str, value: Any) -> Callable[[Any], None]:
    """Change a part in place."""

    def change(tok: Any) -> None:
        setattr(getattr(tok, name), attribute, value)

    return change


def set_part(name: str, value: Any) -> Callable[[Any], None]:
    return lambda tok: setattr(tok, name, value)


def train(tok: Any) -> None:
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=["<pad>"], show_progress=False)
    tok.train_from_iterator(TEXTS, trainer)


def change_later(tok: Any) -> None:
    """Keep a part, use the tokenizer, and change the part then."""
    part = tok.model
    tok.encode("a b")
    part.dropout = 1.0
    tok.encode("a b")


CHANGES: dict[str, Callable[[Any], Any]] = {
    "tokens": lambda tok: tok.add_tokens(["zzz", AddedToken("cat", single_word=True)]),
    "special tokens": lambda tok: tok.add_special_tokens(["<x>", AddedToken("n't", lstrip=True)]),
    "other flags": lambda tok: tok.add_special_tokens([AddedToken("<pad>", rstrip=True)]),
    "padding": lambda tok: tok.enable_padding(length=40, direction="left"),
    "truncation": lambda tok: tok.enable_truncation(5, stride=1),
    "special tokens as text": set_part("encode_special_tokens", True),
    "a template": set_part("post_processor", processors.ByteLevel(trim_offsets=True)),
    "a normalizer": set_part("normalizer", normalizers.Lowercase()),
    "a pre-tokenizer": set_part("pre_tokenizer", pre_tokenizers.Split(Regex("b"), "removed")),
    "a decoder": set_part("decoder", decoders.Replace("a", "o")),
    "a model": set_part("model", tokenizers.models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")])),
    "dropout, in place": of_part("model", "dropout", 1.0),
    "dropout, later": change_later,
    "training": train,
}


WAYS: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda tok: pickle.loads(pickle.dumps(tok)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_does_what_the_real_one_does(kind: str, way: str) -> None:
    make = WAYS[way]
    for name, change in CHANGES.items():
        real = real_of(kind)
        ours = HuggingFaceTokenizer(real)
        assert all_of(make(ours)) == all_of(make(real))
        if name == "other flags":
            continue  # Only the one that was changed still searches it as before.
        change(real)
        change(ours)
        assert all_of(make(ours)) == all_of(make(real)), name
        again = make(make(ours))
        assert all_of(again) == all_of(make(real)), name


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("kind", KINDS)
def test_of_two_copies_only_the_changed_one_changes(kind: str, name: str) -> None:
    change = CHANGES[name]
    plain, changed = real_of(kind), real_of(kind)
    change(changed)
    before, after = all_of(plain), all_of(changed)
    for is_original_changed in (False, True):
        ours = HuggingFaceTokenizer(plain)
        other = copy.deepcopy(ours)
        third = copy.deepcopy(other)
        left, right = (ours, other) if is_original_changed else (other, ours)
        change(left)
        fourth = copy.deepcopy(right)
        assert all_of(left) == after
        for one in (right, third, fourth):
            assert all_of(one) == before
        change(fourth)
        assert all_of(fourth) == after
        assert all_of(right) == before


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_that_was_handed_out_changes_its_own_tokenizer_only(kind: str) -> None:
    real = real_of(kind)
    ours = HuggingFaceTokenizer(real)
    part = ours.model
    other = copy.deepcopy(ours)
    again = pickle.loads(pickle.dumps(ours))
    before = all_of(real)
    part.dropout = real.model.dropout = 1.0
    assert all_of(ours) == all_of(real) != before
    assert all_of(copy.deepcopy(ours)) == all_of(real)
    assert all_of(other) == all_of(again) == before


def is_made(tok: HuggingFaceTokenizer) -> bool:
    """Whether a real tokenizer was made."""
    return tok._own is not None or "lender" in vars(tok._original)


def test_no_real_tokenizer_is_made_for_what_servers_ask() -> None:
    fast = accelerate(wrapped("bytes", real_of("bytes")))
    for tok in (fast, copy.deepcopy(fast), pickle.loads(pickle.dumps(fast))):
        ids = tok(TEXTS, padding=True, truncation=True, max_length=9)["input_ids"]
        tok.apply_chat_template([{"role": "user", "content": "a b"}], tokenize=True)
        tok.batch_decode(ids, skip_special_tokens=True)
        tok.decode(ids[0], clean_up_tokenization_spaces=True)
        assert isinstance(tok._tokenizer.model, models.BPE)
        assert tok._tokenizer.model.dropout is None
        tok.convert_ids_to_tokens(ids[0])
        assert tok.eos_token_id == tok.convert_tokens_to_ids("<bos>")
        assert (len(tok), tok.all_special_ids) == (len(tok.get_vocab()), tok.all_special_ids)
        assert tok.added_tokens_decoder
        copy.deepcopy(tok)
        assert not is_made(tok._tokenizer)
    assert fast._tokenizer.token_to_id("no such token") is None
    assert is_made(fast._tokenizer)


def test_an_attribute_of_somebody_else_is_kept_for_them_alone() -> None:
    real = real_of("bytes")
    ours = HuggingFaceTokenizer(real)
    name = "added_token_ids"
    for tok in (real, ours):
        assert not hasattr(tok, name)
        setattr(tok, name, {1: "a"})
        assert getattr(tok, name) == {1: "a"}
        assert not hasattr(copy.deepcopy(tok), name)
        delattr(tok, name)
        with pytest.raises(AttributeError, match=f"object has no attribute '{name}'"):
            getattr(tok, name)
    assert not is_made(ours)


def with_parts() -> Any:
    real = real_of("bytes")
    real.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    real.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    real.post_processor = processors.TemplateProcessing("<bos> $A", special_tokens=[("<bos>", 0)])
    real.decoder = decoders.ByteLevel()
    return real


CHANGES_OF_PARTS: dict[str, Callable[[Any], object]] = {
    "pre_tokenizer": lambda part: setattr(part, "add_prefix_space", True),
    "post_processor": lambda part: setattr(part, "single", "$A <bos> <bos>"),
}


@pytest.mark.parametrize(
    "first",
    [
        lambda tok: tok.encode("A b").ids,
        lambda tok: tok.encode_batch(["A b"])[0].offsets,
        lambda tok: tok.num_special_tokens_to_add(False),
        lambda tok: tok.encode("A b", "c").ids,
        lambda tok: tok.to_str(),
        lambda tok: copy.deepcopy(tok).encode("A b").tokens,
        lambda tok: tok.post_process(tok.encode("A b", add_special_tokens=False)).ids,
        lambda tok: repr(tok),
        lambda tok: tok.get_vocab_size(),
        lambda tok: tok.model.dropout,
    ],
)
@pytest.mark.parametrize("name", CHANGES_OF_PARTS)
def test_parts_are_handed_out_without_a_real_tokenizer(
    name: str, first: Callable[[Any], object]
) -> None:
    real = with_parts()
    ours = HuggingFaceTokenizer(real)
    held = []
    for part in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
        assert repr(getattr(ours, part)) == repr(getattr(real, part))
    for tok in (ours, real):
        held.append(getattr(tok, name))
        tok.encode("A b")
    assert not is_made(ours)
    for part in held:
        CHANGES_OF_PARTS[name](part)
    assert first(ours) == first(real)
    assert all_of(ours) == all_of(real)
    assert is_made(ours)


@pytest.mark.parametrize("kind", KINDS)
def test_the_model_is_the_real_one_once_more_is_asked_than_settings(kind: str) -> None:
    real = real_of(kind)
    ours = HuggingFaceTokenizer(real)
    model = ours.model
    names = ("dropout", "unk_token", "fuse_unk", "byte_fallback", "ignore_merges")
    assert [getattr(model, name) for name in names] == [getattr(real.model, name) for name in names]
    assert type(model).__name__ == "BPE"
    assert not is_made(ours)
    assert repr(model) == repr(real.model)
    assert pickle.loads(pickle.dumps(model)).__getstate__() == real.model.__getstate__()
    assert model.token_to_id("a") == real.model.token_to_id("a")
    assert model.tokenize("ab") != []
    assert is_made(ours)
    again = tokenizers.Tokenizer(model.real)
    assert again.get_vocab() == real.get_vocab(with_added_tokens=False)
    ours.model = HuggingFaceTokenizer(real).model
    assert all_of(ours) == all_of(real)


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_and_ids_are_those_of_the_real_one(kind: str) -> None:
    real = real_of(kind)
    ours = HuggingFaceTokenizer(real)
    for number in range(real.get_vocab_size() + 2):
        assert ours.id_to_token(number) == real.id_to_token(number)
    for token in (*real.get_vocab(), "", "no such token"):
        assert ours.token_to_id(token) == real.token_to_id(token)
    for name in ("id_to_token", "token_to_id"):
        odd: list[Any] = [-1, 2**40, 1.0, True, None, "\ud800", [], b"a"]
        for argument in odd:
            answers = []
            for tok in (ours, real):
                try:
                    answers.append(getattr(tok, name)(argument))
                except Exception as error:
                    answers.append(type(error))
            assert answers[0] == answers[1], (name, argument)


def test_added_tokens_that_are_handed_out_are_copies() -> None:
    ours = HuggingFaceTokenizer(a_real_one())
    token_id, token = next(iter(ours.get_added_tokens_decoder().items()))
    token.special = not token.special
    assert ours.get_added_tokens_decoder()[token_id].special != token.special


def test_a_copy_keeps_the_settings_of_calls_as_the_real_one() -> None:
    real = a_real_one()
    ours = HuggingFaceTokenizer(real)
    for tok in (real, ours):
        tok.enable_truncation(4)
        tok.enable_padding(pad_token="<pad>")
        tok.encode_special_tokens = True
    names = ("truncation", "padding", "encode_special_tokens")
    for make in WAYS.values():
        assert [getattr(make(ours), n) for n in names] == [getattr(make(real), n) for n in names]
    other = copy.deepcopy(ours)
    with pytest.raises(OverflowError):
        other.enable_truncation(-1)
    assert other.truncation == ours.truncation == real.truncation


def test_word_ids_of_a_copy_remain_when_the_original_changes() -> None:
    real = a_real_one()
    ours = HuggingFaceTokenizer(real)
    ours.encode("a b")
    other = copy.deepcopy(ours)
    encodings = [other.encode("a b c"), ours.encode("a b c")]
    ours.add_tokens(["zzz"])
    assert encodings[0].word_ids == real.encode("a b c").word_ids
    with pytest.raises(RuntimeError, match="the tokenizer was changed"):
        _ = encodings[1].word_ids


def test_a_vocabulary_that_transformers_keeps_is_copied() -> None:
    fast = wrapped("bytes", real_of("bytes"))
    fast._vocab, fast._merges = {"a": 0}, [("a", "b")]
    ours = accelerate(fast)
    other = pickle.loads(pickle.dumps(copy.deepcopy(ours)))
    other._vocab["b"] = 1
    other._merges.append(("b", "b"))
    ours._vocab["c"] = 2
    assert (fast._vocab, fast._merges) == ({"a": 0}, [("a", "b")])
    assert (ours._vocab, ours._merges) == ({"a": 0, "c": 2}, [("a", "b")])
    assert other._vocab == {"a": 0, "b": 1}
    fast._vocab, fast._merges = {"a": [0]}, [["a", "b"]]
    ours = accelerate(fast)
    ours._vocab["a"].append(1)
    ours._merges[0].append("c")
    assert (fast._vocab, fast._merges) == ({"a": [0]}, [["a", "b"]])


def test_threads_may_copy_encode_and_change_at_once() -> None:
    threads = 64
    real, changed = real_of("bytes"), real_of("bytes")
    changed.add_tokens(["zzz"])
    plain = [encoding.ids for encoding in real.encode_batch(TEXTS)]
    added = [encoding.ids for encoding in changed.encode_batch(TEXTS)]
    pairs = [encoding.ids for encoding in real.encode_batch(PAIRS)]
    ours = HuggingFaceTokenizer(real)
    barrier = Barrier(threads)

    def work(number: int) -> None:
        barrier.wait()
        for turn in range(8):
            mine = copy.deepcopy(ours)
            kind = (number + turn) % 4
            if kind == 0:
                mine.add_tokens(["zzz"])
                assert [one.ids for one in mine.encode_batch(TEXTS)] == added
            elif kind == 1:
                mine.enable_truncation(2 + number % 5)
                cut = [len(one.ids) for one in mine.encode_batch(PAIRS)]
                assert max(cut) <= 2 + number % 5
            else:
                assert [one.ids for one in mine.encode_batch(PAIRS)] == pairs
            assert [one.ids for one in ours.encode_batch(TEXTS)] == plain

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
    assert all_of(ours) == all_of(real)
