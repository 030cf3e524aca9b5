"""Calls of every kind on the interface of `tokenizers.Tokenizer`, against the real one, output by output."""

import copy
import json
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

from bpetite import accelerate
from bpetite._engine import FramedEncoder, FramedEncoding
from bpetite.interfaces.huggingface import HuggingFaceTokenizer
from known_characters import known_text
from test_huggingface_interface import PROCESSORS, a_real_one, difference, outcome
from test_huggingface_steps import PIECES, random_file
from test_sentencepiece import SETTINGS, document, trained

KINDS = [*range(8), *SETTINGS]
STRATEGIES = ["longest_first", "only_first", "only_second"]
SIDES = ["left", "right"]
MORE_PIECES = [
    *PIECES,
    "<s>",
    "</s>",
    "<new>",
    "  <l>",
    "É x  ",
    "x <l>",
    "é x",
    "\u2581",
    "e\u0301",
    "ﬁ",
    "😀",
]


@cache
def file_of(kind: int | str) -> str:
    if isinstance(kind, str):
        return json.dumps(document(trained("llama"), kind))
    return json.dumps(random_file(random.Random(kind)))


@cache
def both_of(kind: int | str) -> tuple[Any, Any]:
    real = tokenizers.Tokenizer.from_str(file_of(kind))
    if isinstance(kind, int):
        real.decoder = decoders.ByteLevel()
    return real, HuggingFaceTokenizer(real)


@cache
def plain() -> tuple[Any, Any]:
    real = a_real_one()
    return real, HuggingFaceTokenizer(real)


def both(kind: int | str) -> tuple[Any, Any]:
    """The real tokenizer and ours, without settings."""
    real, ours = both_of(kind)
    return copy.deepcopy(real), copy.deepcopy(ours)


texts = st.lists(st.sampled_from(MORE_PIECES) | known_text(3), max_size=8).map("".join)
words = st.lists(texts, max_size=4)


@st.composite
def batches(draw: Any) -> tuple[list[Any], bool]:
    """The arguments of a call for a batch, and whether it consists of words."""
    is_pretokenized = draw(st.booleans())
    item = words if is_pretokenized else texts
    return draw(st.lists(item | st.tuples(item, item), min_size=1, max_size=4)), is_pretokenized


@st.composite
def settings(draw: Any) -> list[Callable[[Any], object]]:
    """The settings before encoding."""
    processor = draw(st.sampled_from(PROCESSORS))
    made: list[Callable[[Any], object]] = [lambda tok: setattr(tok, "post_processor", processor)]
    if draw(st.booleans()):
        truncation = {
            "max_length": draw(st.integers(0, 12)),
            "stride": draw(st.integers(0, 3)),
            "strategy": draw(st.sampled_from(STRATEGIES)),
            "direction": draw(st.sampled_from(SIDES)),
        }
        made.append(lambda tok: outcome(lambda: tok.enable_truncation(**truncation)))
    if draw(st.booleans()):
        padding = {
            "direction": draw(st.sampled_from(SIDES)),
            "length": draw(st.none() | st.integers(0, 20)),
            "pad_to_multiple_of": draw(st.sampled_from([None, 4])),
            "pad_id": 3,
            "pad_type_id": 1,
            "pad_token": "<p>",
        }
        made.append(lambda tok: tok.enable_padding(**padding))
    if draw(st.booleans()):
        tokens = [
            tokenizers.AddedToken(
                content,
                lstrip=draw(st.booleans()),
                rstrip=draw(st.booleans()),
                normalized=draw(st.booleans()),
                single_word=draw(st.booleans()),
                special=draw(st.booleans()),
            )
            for content in draw(
                st.sets(st.sampled_from(["<new>", "<l>", "É x", "ab", "x"]), max_size=2)
            )
        ]
        made.append(lambda tok: tok.add_tokens(tokens))
    if draw(st.booleans()):
        made.append(lambda tok: setattr(tok, "encode_special_tokens", True))
    return made


@given(st.sampled_from(KINDS), settings(), batches(), st.booleans())
def test_whatever_is_encoded_is_what_the_real_one_gives(
    kind: int | str, made: list[Callable[[Any], object]], batch: tuple[list[Any], bool], add: bool
) -> None:
    real, ours = both(kind)
    for change in made:
        change(real)
        change(ours)
    items, is_pretokenized = batch
    for name in ("encode_batch", "encode_batch_fast"):
        theirs = outcome(lambda name=name: getattr(real, name)(items, is_pretokenized, add))  # type: ignore[misc]
        mine = outcome(lambda name=name: getattr(ours, name)(items, is_pretokenized, add))  # type: ignore[misc]
        assert (mine is None) == (theirs is None)
        for one, other in zip(mine or [], theirs or [], strict=True):
            assert difference(one, other) == []
    for encoding in theirs or []:
        for skip in (True, False):
            assert ours.decode(encoding.ids, skip) == real.decode(encoding.ids, skip)


@pytest.mark.parametrize("add", [False, True])
def test_texts_without_places_are_encoded_by_the_engine_like_those_with_places(add: bool) -> None:
    real, ours = plain()
    with_places = ours.encode_batch(["the cat", "<new>"], add_special_tokens=add)
    without = ours.encode_batch_fast(["the cat", "<new>"], add_special_tokens=add)
    assert {type(one) for one in (*with_places, *without)} == {FramedEncoding}
    for one, other in zip(
        without, real.encode_batch_fast(["the cat", "<new>"], False, add), strict=True
    ):
        assert difference(one, other) == []


@given(st.sampled_from(KINDS), st.lists(st.integers(0, 1000), max_size=12), st.booleans())
def test_whatever_is_decoded_is_what_the_real_one_gives(
    kind: int | str, ids: list[int], skip: bool
) -> None:
    real, ours = both_of(kind)
    assert ours.decode(ids, skip) == real.decode(ids, skip)
    assert ours.decode_batch([ids, ids[:3]], skip) == real.decode_batch([ids, ids[:3]], skip)


@given(texts, st.integers(0, 9), st.integers(0, 3), st.sampled_from(SIDES))
def test_encodings_are_cut_filled_up_and_pickled_as_real_ones(
    text: str, length: int, stride: int, side: str
) -> None:
    real, ours = plain()
    one, other = ours.encode(text), real.encode(text)
    if not 0 < length <= stride:
        one.truncate(length, stride=stride, direction=side)
        other.truncate(length, stride=stride, direction=side)
        assert difference(one, other) == []
    one.pad(12, direction=side, pad_id=1, pad_type_id=2, pad_token="x")
    other.pad(12, direction=side, pad_id=1, pad_type_id=2, pad_token="x")
    one.set_sequence_id(1)
    other.set_sequence_id(1)
    assert difference(one, other) == []
    more, real_more = ours.encode("ab c"), real.encode("ab c")
    assert difference(pickle.loads(pickle.dumps(one)), other) == []
    assert repr(one) == repr(other)
    assert difference(ours.post_process(more), real.post_process(real_more)) == []


def test_a_part_that_somebody_has_may_be_changed() -> None:
    real, ours = map(copy.deepcopy, plain())
    for tok in (real, ours):
        tok.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
        tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tok.post_processor = processors.ByteLevel(trim_offsets=False)
    held = [(tok.pre_tokenizer, tok.post_processor, tok.model) for tok in (real, ours)]
    text = "Ab c É"
    changes: list[Callable[[Any], object]] = [
        lambda parts: setattr(parts[0], "add_prefix_space", True),
        lambda parts: setattr(parts[1], "trim_offsets", True),
        lambda parts: setattr(parts[0], "use_regex", False),
        lambda parts: setattr(parts[2], "ignore_merges", True),
    ]
    for change in changes:
        assert difference(ours.encode(text), real.encode(text)) == []
        for parts in held:
            change(parts)
        assert difference(ours.encode(text), real.encode(text)) == []


def test_a_part_that_was_set_may_be_changed_and_read_before_the_next_call() -> None:
    real, ours = map(copy.deepcopy, plain())
    steps = [pre_tokenizers.Digits(), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    kept = [
        (pre_tokenizers.Sequence(steps), processors.ByteLevel(trim_offsets=False)) for _ in range(2)
    ]
    text = "Ab 12 É"
    for tok, (cutter, processor) in zip((real, ours), kept, strict=True):
        tok.pre_tokenizer, tok.post_processor = cutter, processor
    changes: list[Callable[[Any, Any], object]] = [
        lambda tok, parts: setattr(parts[1], "trim_offsets", True),
        lambda tok, parts: parts[0].__setitem__(0, pre_tokenizers.Digits(individual_digits=True)),
        lambda tok, parts: tok.pre_tokenizer.__setitem__(
            1, pre_tokenizers.ByteLevel(add_prefix_space=True)
        ),
        lambda tok, parts: setattr(tok.pre_tokenizer[1], "use_regex", False),
    ]
    for change in changes:
        before = real.encode(text)
        assert difference(ours.encode(text), before) == []
        for tok, parts in zip((real, ours), kept, strict=True):
            change(tok, parts)
            assert tok.pre_tokenizer[0].individual_digits in (
                False,
                True,
            )  # read again before it is used
        assert difference(real.encode(text), before) != []
        assert difference(ours.encode(text), real.encode(text)) == []


def test_texts_that_are_cut_and_filled_up_are_encoded_by_the_engine() -> None:
    real, ours = map(copy.deepcopy, plain())
    for tok in (real, ours):
        tok.enable_truncation(6, stride=2)
        tok.enable_padding(direction="left", pad_to_multiple_of=4)
    given = ["a b é e\u0301!", "", "a <pad> longer text with <bos> in it"]
    made = [*ours.encode_batch(given), ours.encode(given[2])]
    assert {type(one) for one in made} == {FramedEncoding}
    assert len(made[2].overflowing) > 1
    for one, other in zip(made, [*real.encode_batch(given), real.encode(given[2])], strict=True):
        assert difference(one, other) == []


def test_what_is_no_text_is_refused_as_the_real_one_refuses_it() -> None:
    real, ours = plain()
    calls: list[Callable[[Any], object]] = [
        lambda tok: tok.encode(3),
        lambda tok: tok.encode(["a"]),
        lambda tok: tok.encode("a", is_pretokenized=True),
        lambda tok: tok.encode_batch("ab"),
        lambda tok: tok.encode_batch([("a", "b", "c")]),
        lambda tok: tok.encode_batch([1]),
        lambda tok: tok.decode(["a"]),
        lambda tok: tok.decode([-1]),
        lambda tok: tok.decode("ab"),
    ]
    for call in calls:
        with pytest.raises(Exception) as theirs:  # whatever it is
            call(real)
        with pytest.raises(theirs.type):
            call(ours)
    assert ours.encode_batch([]) == real.encode_batch([]) == []


def test_settings_are_told_as_the_real_one_tells_them() -> None:
    real, ours = map(copy.deepcopy, plain())
    for tok in (real, ours):
        tok.enable_truncation(9, stride=2)
        tok.enable_padding(length=4)
    assert (ours.truncation, ours.padding) == (real.truncation, real.padding)
    assert repr(ours) == repr(real)
    assert str(ours) == str(real)
    assert ours.num_special_tokens_to_add(True) == real.num_special_tokens_to_add(True)
    for tok in (real, ours):
        tok.no_truncation()
        tok.no_padding()
    assert ours.truncation is ours.padding is None
    for again in (copy.copy(ours), pickle.loads(pickle.dumps(ours)), accelerate(ours)):
        assert again.to_str() == real.to_str()
        assert again.encode("ab é").ids == real.encode("ab é").ids


@pytest.mark.parametrize("setting", ["Llama 2", "Gemma"])
def test_single_prompts_are_those_of_the_real_one(setting: str) -> None:
    """They take the shortest way: before the text at most a space is put."""
    real = tokenizers.Tokenizer.from_str(json.dumps(document(trained("llama"), setting)))
    ours = accelerate(real)
    parts = [
        *("the", " ", "  ", "\u2581", "cat", "é", "東京", "<s>", "</s>", "\n", "12", "😀", " <s>"),
        "\t",
    ]
    drawn = random.Random(setting)
    for _ in range(400):
        text = "".join(drawn.choices(parts, k=drawn.randrange(8)))
        a, b = real.encode(text), ours.encode(text)
        for name in (
            "ids",
            "offsets",
            "tokens",
            "word_ids",
            "type_ids",
            "sequence_ids",
            "n_sequences",
        ):
            assert getattr(a, name) == getattr(b, name), (text, name)


LACKING = {
    "a token for each": ("<unk>", False),
    "one for successive ones": ("<unk>", True),
    "dropped": (None, False),
}
"""What becomes of bytes without a token: an unknown token, and whether successive ones share it."""


@cache
def lacking_bytes(kind: str, normalizer: str, prefix: bool) -> tuple[Any, Any]:
    unknown, joined = LACKING[kind]
    real = tokenizers.Tokenizer(models.BPE(unk_token=unknown, fuse_unk=joined))
    real.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    if normalizer:
        real.normalizer = getattr(normalizers, normalizer)()
    trainer = trainers.BpeTrainer(
        vocab_size=60, special_tokens=["<unk>", "<s>"], initial_alphabet=[], show_progress=False
    )
    real.train_from_iterator(["the cat sat on the mat, café 12 fi fi"] * 4, trainer)
    ours = HuggingFaceTokenizer(real)
    return real, ours


@pytest.mark.parametrize("processor", [None, PROCESSORS[2], PROCESSORS[3], PROCESSORS[7]])
@pytest.mark.parametrize("prefix", [False, True])
@pytest.mark.parametrize("normalizer", ["", "NFKC", "Lowercase"])
@pytest.mark.parametrize("kind", LACKING)
def test_bytes_without_a_token_are_as_in_the_real_one(
    kind: str, normalizer: str, prefix: bool, processor: Any
) -> None:
    real, ours = lacking_bytes(kind, normalizer, prefix)
    real.post_processor = ours.post_processor = processor
    assert (
        type(ours._coder(ours._calls.last, True)) is FramedEncoder
    )  # the engine encodes, and not the real one
    drawn = random.Random(f"{kind} {normalizer} {prefix}")
    parts = [
        "the",
        " cat",
        "é",
        "É",
        "\n",
        "\n\n",
        "東",
        "ﬁ",
        "½",
        " ",
        "  ",
        "zz",
        "azb",
        "<s>",
        "<unk>",
        "12",
        "\t",
    ]
    texts = ["".join(drawn.choices(parts, k=drawn.randrange(9))) for _ in range(120)]
    pairs = list(zip(texts[::2], texts[1::2], strict=True))
    for items, is_words in ((texts, False), (pairs, False), ([texts[:5], texts[5:9]], True)):
        mine, theirs = (tok.encode_batch(items, is_pretokenized=is_words) for tok in (ours, real))
        for one, other, item in zip(mine, theirs, items, strict=True):
            assert difference(one, other) == [], item
    for text in texts:
        assert difference(ours.encode(text), real.encode(text)) == [], text


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("sides", [(False, False), (True, False), (False, True), (True, True)])
def test_white_space_is_taken_by_one_added_token_and_looked_for_by_another(
    sides: tuple[bool, bool], normalized: bool
) -> None:
    real = a_real_one()
    ours = HuggingFaceTokenizer(real)
    left, right = sides
    for tok in (real, ours):
        tok.add_tokens(
            [
                tokenizers.AddedToken("Q", rstrip=True),
                tokenizers.AddedToken("\n", lstrip=left, rstrip=right, normalized=normalized),
            ]
        )
    for text in ("aQ\nb", "Q\r\nb", "Q \nb", "Q    \n  b", "Q\n", "\nQ\n", "Q\n\nb", "a \nQ x"):
        theirs = outcome(lambda text=text: real.encode(text))  # type: ignore[misc]
        if theirs is not None:
            assert difference(ours.encode(text), theirs) == [], text
            assert difference(ours.encode_batch([text, "a"])[0], theirs) == [], text


def test_tokens_that_only_the_real_one_can_follow_are_its_own() -> None:
    real = a_real_one()
    real.normalizer = normalizers.NFC()
    ours = HuggingFaceTokenizer(real)
    new = tokenizers.AddedToken
    changes = [
        [new("e\u0301b", normalized=True)],
        [new("éb", normalized=True)],  # the same once normalized
        [new("<q>", normalized=False, special=True)],
        [new("<q>", normalized=True)],  # still looked for before, and still special
    ]
    for tokens in changes[2:]:
        for tok in (real, ours):
            tok.add_tokens(tokens)
        for text in ("x<q>e\u0301", "<q>"):
            assert difference(ours.encode(text), real.encode(text)) == []
            assert ours.decode(real.encode(text).ids) == real.decode(real.encode(text).ids)
    for tokens in changes[:2]:
        ours.add_tokens(tokens)
    for again in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert again.to_str() == ours.to_str()
        assert again.encode("a <q>").ids == ours.encode("a <q>").ids


@pytest.mark.parametrize("direction", SIDES)
def test_a_complete_encoding_keeps_its_places_when_it_is_cut(direction: str) -> None:
    real = a_real_one()
    real.post_processor = PROCESSORS[2]
    ours = HuggingFaceTokenizer(real)
    for length in range(1, 6):
        mine, theirs = ours.encode("a b c d é"), real.encode("a b c d é")
        for encoding in (mine, theirs):
            encoding.truncate(length, direction=direction)
        assert difference(mine, theirs) == []


THREADS_OF_A_BATCH = """
import os, sys, threading
from bpetite.interfaces.huggingface import HuggingFaceTokenizer

fast = HuggingFaceTokenizer.from_file(sys.argv[1])
texts = ["to be or not to be, " * 50_000] * 20
before = len(os.listdir("/proc/self/task"))
most = 0
call = threading.Thread(target=fast.encode_batch, args=(texts,))
call.start()
while call.is_alive():
    most = max(most, len(os.listdir("/proc/self/task")))
print(most - before - 1)
"""


@pytest.mark.skipif(
    not Path("/proc/self/task").is_dir(), reason="threads are counted as Linux shows them"
)
@pytest.mark.parametrize(
    ("value", "others"), [("false", 0), ("0", 0), ("Off", 0), ("true", 1), ("", 0)]
)
def test_the_environment_switches_threads_off(tmp_path: Path, value: str, others: int) -> None:
    (tmp_path / "tokenizer.json").write_text(file_of(0))
    command = [sys.executable, "-c", THREADS_OF_A_BATCH, str(tmp_path / "tokenizer.json")]
    environment = {**os.environ, "TOKENIZERS_PARALLELISM": value}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    most = int(done.stdout)
    assert most == 0 if others == 0 else most >= 1 or os.cpu_count() == 1
