"""The interface of `tokenizers.Tokenizer` against the real one, output by output, and in transformers."""

import asyncio
import copy
import json
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
import tokenizers
import transformers
from tokenizers import processors

from bpetite import Tokenizer, accelerate
from bpetite.interfaces.huggingface import HuggingFaceTokenizer
from test_huggingface_steps import PIECES, random_file

# What the engine knows until something else is asked for. Tokens come last: some only the real
# encoding has.
FROM_ENGINE = ["ids", "offsets", "type_ids", "attention_mask", "special_tokens_mask", "n_sequences"]
FROM_ENGINE += ["sequence_ids", "tokens"]
PLACES = ["token_to_sequence", "token_to_chars", "char_to_token"]
WORDS = ["token_to_word", "char_to_word", "word_to_tokens", "word_to_chars"]

PROCESSORS: list[Any] = [
    None,
    processors.ByteLevel(trim_offsets=False),
    processors.ByteLevel(trim_offsets=True, add_prefix_space=True),
    processors.RobertaProcessing(("</s>", 2), ("<s>", 0)),
    processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=False),
    processors.BertProcessing(("</s>", 2), ("<s>", 0)),
    processors.TemplateProcessing("<s>:1 $A:2 </s>:3 </s>", "$A $B", [("<s>", 1), ("</s>", 2)]),
    processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=True),
            processors.TemplateProcessing("<s> $A", "$A $B", [("<s>", 1)]),
        ]
    ),
]
SETTINGS: dict[str, Callable[[Any], object]] = {
    "nothing": lambda tok: None,
    "truncation": lambda tok: tok.enable_truncation(5),
    "strides": lambda tok: tok.enable_truncation(6, stride=2),
    "truncation on the left": lambda tok: tok.enable_truncation(7, stride=1, direction="left"),
    "the second alone": lambda tok: tok.enable_truncation(7, strategy="only_second"),
    "padding": lambda tok: tok.enable_padding(),
    "padding on the left": lambda tok: tok.enable_padding(
        direction="left", length=20, pad_id=3, pad_type_id=1, pad_token="<p>"
    ),
    "padding and truncation": lambda tok: (
        tok.enable_truncation(8, stride=3),
        tok.enable_padding(pad_to_multiple_of=5),
    ),
    "special tokens as text": lambda tok: setattr(tok, "encode_special_tokens", True),
    "added tokens": lambda tok: (
        tok.add_special_tokens(["<new>", tokenizers.AddedToken("<l>", lstrip=True)]),
        tok.add_tokens(["ab", tokenizers.AddedToken("É x", normalized=True, rstrip=True)]),
    ),
}


def texts(rng: random.Random, count: int) -> Iterator[str]:
    pieces = [*PIECES, "<new>", "  <l>", "É x  ", "x <l>", "é x"]
    return ("".join(rng.choices(pieces, k=rng.randint(0, 12))) for _ in range(count))


def difference(ours: Any, theirs: Any) -> list[str]:
    """What two encodings answer differently, before and after the real one was asked, and their overflow."""
    parts, real_parts = ours.overflowing, theirs.overflowing
    if overflow(ours) != overflow(theirs):
        return ["overflowing"]
    steps = [(PLACES, FROM_ENGINE), (WORDS, ["word_ids"]), (PLACES, FROM_ENGINE)]
    different = []
    for methods, attributes in steps:
        places = range(len(theirs.ids) + 2)
        different += [
            f"{name}({place})"
            for place in places
            for name in methods
            if getattr(ours, name)(place) != getattr(theirs, name)(place)
        ]
        different += [name for name in attributes if getattr(ours, name) != getattr(theirs, name)]
        if len(ours) != len(theirs):
            different.append("len")
    for part, real_part in zip(parts, real_parts, strict=True):
        different += [f"{found} of overflow" for found in difference(part, real_part)]
    if overflow(ours) != overflow(theirs):
        different.append("overflowing, at last")
    return different


def overflow(encoding: Any) -> list[Any]:
    """The ids of each overflowing part, with those of its own ones."""
    return [(part.ids, overflow(part)) for part in encoding.overflowing]


def outcome(call: Callable[[], Any]) -> Any:
    """The result of a call, or that it fails; tokenizers panics for some texts and settings."""
    try:
        return call()
    except BaseException as failure:
        if isinstance(failure, KeyboardInterrupt | SystemExit):
            raise
        return None


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("seed", range(4))
def test_every_output_is_that_of_the_real_one(setting: str, seed: int) -> None:
    rng = random.Random(seed)
    real = tokenizers.Tokenizer.from_str(json.dumps(random_file(rng)))
    real.decoder = tokenizers.decoders.ByteLevel()
    ours = HuggingFaceTokenizer(real)
    for processor in PROCESSORS:
        real.post_processor = processor
        ours.post_processor = processor
        if processor is PROCESSORS[0]:
            SETTINGS[setting](real)
            SETTINGS[setting](ours)
        batch = [
            text
            for text in texts(rng, 12)
            if outcome(lambda text=text: real.encode(text)) is not None  # type: ignore[misc]
        ]
        for text in batch:
            for add in (True, False):
                theirs = outcome(
                    lambda text=text, add=add: real.encode(text, add_special_tokens=add)  # type: ignore[misc]
                )
                if theirs is None:
                    continue
                assert difference(ours.encode(text, add_special_tokens=add), theirs) == [], (
                    processor,
                    text,
                )
                for skip in (True, False):
                    assert ours.decode(theirs.ids, skip) == real.decode(theirs.ids, skip)
        expected = outcome(lambda batch=batch: real.encode_batch(batch))  # type: ignore[misc]
        for mine, other in zip(ours.encode_batch(batch), expected or [], strict=bool(expected)):
            assert difference(mine, other) == []


def a_real_one() -> Any:
    document = random_file(random.Random(1))
    document["pre_tokenizer"] = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": True,
    }
    document["normalizer"] = {"type": "NFC"}
    real = tokenizers.Tokenizer.from_str(json.dumps(document))
    real.decoder = tokenizers.decoders.ByteLevel()
    real.add_special_tokens(["<pad>", "<bos>"])
    return real


CALLS: list[dict[str, Any]] = [
    {},
    {"padding": True},
    {"padding": "max_length", "max_length": 12, "truncation": True},
    {"truncation": True, "max_length": 8, "stride": 2, "return_overflowing_tokens": True},
    {
        "return_offsets_mapping": True,
        "return_special_tokens_mask": True,
        "return_token_type_ids": True,
    },
    {"add_special_tokens": False, "return_length": True},
    {"padding": True, "padding_side": "left"},
]


@pytest.mark.parametrize("kwargs", CALLS)
def test_transformers_takes_it_and_gives_the_same(kwargs: dict[str, Any]) -> None:
    load: Any = transformers.PreTrainedTokenizerFast  # its annotations are incomplete
    real = load(
        tokenizer_object=a_real_one(), pad_token="<pad>", bos_token="<bos>", add_bos_token=True
    )
    taken = load(
        tokenizer_object=HuggingFaceTokenizer(a_real_one()),
        pad_token="<pad>",
        bos_token="<bos>",
        add_bos_token=True,
    )
    given = ["a b é e\u0301!", "a <pad> longer text with <bos> in it, " * 3, "", " x"]
    for ours in (taken, accelerate(real)):
        assert isinstance(ours, load)
        assert ours(given, **kwargs).data == real(given, **kwargs).data
        assert (
            ours(given, text_pair=given, **kwargs).data
            == real(given, text_pair=given, **kwargs).data
        )
        words = [["a", "b c"], ["<pad>"]]
        split = ours(words, is_split_into_words=True, **kwargs)
        assert split.data == real(words, is_split_into_words=True, **kwargs).data
        one, other = ours(given[1], **kwargs), real(given[1], **kwargs)
        assert one.data == other.data
        assert (one.tokens(), one.word_ids(), one.sequence_ids()) == (
            other.tokens(),
            other.word_ids(),
            other.sequence_ids(),
        )
        assert (one.char_to_token(3), one.token_to_chars(1)) == (
            other.char_to_token(3),
            other.token_to_chars(1),
        )
        ids = real(given[1])["input_ids"]
        assert ours.decode(ids) == real.decode(ids)
        assert ours.batch_decode([ids], skip_special_tokens=True) == real.batch_decode(
            [ids], skip_special_tokens=True
        )
        assert ours.tokenize(given[0]) == real.tokenize(given[0])


def test_an_accelerated_tokenizer_can_be_changed_saved_copied_and_pickled(tmp_path: Any) -> None:
    load: Any = transformers.PreTrainedTokenizerFast
    real = load(tokenizer_object=a_real_one(), pad_token="<pad>")
    ours = accelerate(real)
    assert accelerate(ours) is ours
    before = real("a zzz")["input_ids"]
    ours.add_tokens(["zzz"])
    assert real("a zzz")["input_ids"] == before  # the given tokenizer is not changed
    changed = ours("a zzz")["input_ids"]
    assert changed != before
    ours.save_pretrained(tmp_path)
    for again in (
        load.from_pretrained(tmp_path),
        copy.deepcopy(ours),
        pickle.loads(pickle.dumps(ours)),
    ):
        assert again("a zzz")["input_ids"] == changed


def test_a_token_that_merges_make_may_be_added() -> None:
    real = a_real_one()
    real.add_special_tokens([merged := "".join(json.loads(real.to_str())["model"]["merges"][0])])
    ours = HuggingFaceTokenizer(real)
    for text in (merged, f"a{merged}b", merged * 3):
        assert ours.encode(text).ids == real.encode(text).ids


def test_everything_else_is_the_real_ones() -> None:
    real = a_real_one()
    ours = HuggingFaceTokenizer(real)
    assert ours.get_vocab() == real.get_vocab()
    assert ours.token_to_id("a") == real.token_to_id("a")
    assert ours.to_str() == real.to_str()
    assert ours.padding is None
    ours.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.Digits(True),
            tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True),
        ]
    )
    real.pre_tokenizer = ours.pre_tokenizer
    assert ours.encode("ab 12 é").ids == real.encode("ab 12 é").ids
    ours.pre_tokenizer = real.pre_tokenizer = (
        tokenizers.pre_tokenizers.WhitespaceSplit()
    )  # only theirs can do what follows
    assert ours.encode("ab 12").ids == real.encode("ab 12").ids


class NoCuts:
    """A part of a tokenizer that is written in Python, which no file can hold."""

    def pre_tokenize(self, text: Any) -> None:
        pass


def a_custom_one() -> Any:
    real = tokenizers.Tokenizer(tokenizers.models.BPE())
    real.pre_tokenizer = tokenizers.pre_tokenizers.PreTokenizer.custom(NoCuts())
    return real


def a_changed_one(part: str, **changes: Any) -> Any:
    document = json.loads(a_real_one().to_str())
    document[part] = {**(document[part] or {}), **changes}
    return tokenizers.Tokenizer.from_str(json.dumps(document))


class Slow(transformers.PreTrainedTokenizer):  # type: ignore[misc, unused-ignore]
    """A tokenizer of transformers without one of tokenizers in it."""

    vocab_size = 1

    def get_vocab(self) -> dict[str, int]:
        return {"a": 0}


FAST: Any = transformers.PreTrainedTokenizerFast  # its annotations are incomplete


def a_wordpiece() -> Any:
    return tokenizers.Tokenizer(tokenizers.models.WordPiece({"a": 0}, unk_token="a"))


LEFT = {
    "WordPiece": (a_wordpiece, "model.type is 'WordPiece'; only BPE can be read"),
    "in transformers": (
        lambda: FAST(tokenizer_object=a_wordpiece()),
        "model.type is 'WordPiece'; only BPE can be read",
    ),
    "dropout": (lambda: a_changed_one("model", dropout=1.0), "model.dropout is 1.0"),
    "a step": (lambda: a_changed_one("normalizer", type="Nmt"), "normalizer: 'Nmt'"),
    "in Python": (a_custom_one, "Custom PreTokenizer cannot be serialized"),
    "Slow": (Slow, "can be accelerated, not Slow"),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_cannot_be_accelerated_is_given_back_with_a_warning_that_says_why(name: str) -> None:
    make, reason = LEFT[name]
    real = make()
    with pytest.warns(UserWarning, match="^not accelerated: ") as warned:
        assert accelerate(real) is real
    [warning] = warned
    assert reason in str(warning.message)
    assert warning.filename == __file__


def test_the_class_refuses_with_the_reason() -> None:
    with pytest.raises(ValueError, match="only BPE can be read"):
        HuggingFaceTokenizer(a_wordpiece())


def test_whether_a_tokenizer_is_accelerated_can_be_asked() -> None:
    real = a_real_one()
    fast = accelerate(real)
    assert fast is not real
    assert isinstance(fast, HuggingFaceTokenizer)
    wrapped = accelerate(FAST(tokenizer_object=real))
    assert isinstance(wrapped.backend_tokenizer, HuggingFaceTokenizer)


def test_an_old_file_of_wordpiece_does_not_say_its_type(tmp_path: Path) -> None:
    document = {"model": {"unk_token": "a", "continuing_subword_prefix": "##", "vocab": {"a": 0}}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    with pytest.raises(
        ValueError, match=r"tokenizer\.json: model has neither a type nor merges; only BPE"
    ):
        Tokenizer.load(tmp_path / "tokenizer.json")


def test_a_tokenizer_of_ours_has_that_interface() -> None:
    tok = Tokenizer.train_from_iterator(
        ["ab ab abc"], 260, special_tokens=["<|x|>"], dialect="huggingface"
    )
    there = tok.as_huggingface()
    assert there.encode("ab<|x|> abc").ids == tok.encode("ab<|x|> abc")
    assert there.decode(tok.encode("é ab")) == "é ab"


def test_calls_that_are_awaited_give_what_others_do() -> None:
    ours = Tokenizer.train_from_iterator(["the cat sat on the mat"] * 3, 290).as_huggingface()
    again = HuggingFaceTokenizer.from_buffer(ours.to_str().encode())

    async def answers() -> list[Any]:
        one = await again.async_encode("the cat", "a mat")
        many = await again.async_encode_batch(["the cat", ("a", "mat")])
        fast = await again.async_encode_batch_fast(["the cat"])
        return [
            *(found.ids for found in [one, *many, *fast]),
            await again.async_decode_batch([one.ids, [97]]),
        ]

    pairs = [("the cat", "a mat"), ("the cat", None), ("a", "mat"), ("the cat", None)]
    expected = [ours.encode(first, second).ids for first, second in pairs]
    assert asyncio.run(answers()) == [*expected, ["the cata mat", "a"]]


# What cannot be accelerated, and what must not change
# -------------------------------------------------------


@pytest.mark.parametrize("given", ["x", b"x", None, 5, ["x"], tokenizers.models.BPE()])
def test_what_is_no_tokenizer_is_refused_by_its_type(given: Any) -> None:
    for call in (accelerate, HuggingFaceTokenizer):
        with pytest.raises(TypeError, match=f"can be accelerated, not {type(given).__name__}"):
            call(given)


def test_another_generation_of_tokenizers_is_refused_by_its_version() -> None:
    real = tokenizers.Tokenizer.from_str(json.dumps(random_file(random.Random(1))))
    other = SimpleNamespace(__version__="1.2.3", Tokenizer=object)
    reason = r"tokenizers 1\.2\.3 has another interface, .* tokenizers 0\.22 or 0\.23"
    with mock.patch.dict(sys.modules, tokenizers=other):
        for call in (
            Tokenizer.train("ab ab", 257).as_huggingface,
            lambda: HuggingFaceTokenizer(real),
            lambda: Tokenizer.load(real),
        ):
            with pytest.raises(ImportError, match=reason):
                call()
        with pytest.warns(UserWarning, match=f"not accelerated: {reason}"):
            assert accelerate(real) is real


NEXT = Path(sys.prefix) / "prerelease"
"""Where `make test-slow` installs the next generation of tokenizers, if it can be had."""

REFUSED_BY_VERSION = """
import sys, tokenizers, warnings
from bpetite import Tokenizer, accelerate
file = sys.argv[1]
theirs, ours = tokenizers.Tokenizer.from_file(file), Tokenizer.load(file)
assert theirs.encode("ab abc é").ids == ours.encode("ab abc é")
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    assert accelerate(theirs) is theirs
[warning] = warned
assert f"tokenizers {tokenizers.__version__} has another interface" in str(warning.message)
for call in (lambda: Tokenizer.load(theirs), ours.as_huggingface):
    try:
        call()
    except ImportError as error:
        assert f"tokenizers {tokenizers.__version__} has another interface" in str(error), error
    else:
        raise AssertionError("accepted")
print(tokenizers.__version__)
"""


@pytest.mark.slow
@pytest.mark.skipif(
    not (NEXT / ".ready").exists(),
    reason="make test-slow installs the next tokenizers, where it can be had",
)
def test_the_next_generation_of_tokenizers_reads_our_files_and_is_refused(tmp_path: Path) -> None:
    Tokenizer.train("ab ab abc é", 260).to_huggingface(tmp_path / "tokenizer.json")
    done = subprocess.run(
        [sys.executable, "-c", REFUSED_BY_VERSION, tmp_path / "tokenizer.json"],
        env={**os.environ, "PYTHONPATH": str(NEXT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("1.")
    check = [
        sys.executable,
        "-m",
        "bpetite",
        "convert",
        "tokenizer.json",
        "out.tiktoken",
        "--check",
    ]
    done = subprocess.run(
        check,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(NEXT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "tokenizers 1." in done.stderr
    assert "Traceback" not in done.stderr


def test_dropout_is_left_to_the_real_one() -> None:
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {**{character: place for place, character in enumerate(alphabet)}, "ab": 256}
    real = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, [("a", "b")]))
    real.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    ours = accelerate(real)
    ours.model.dropout = 1.0
    assert ours.encode("ab").ids == [vocabulary["a"], vocabulary["b"]]
    again = tokenizers.Tokenizer.from_str(ours.to_str())
    with pytest.warns(UserWarning, match=r"not accelerated: model\.dropout is 1\.0"):
        assert accelerate(again) is again
