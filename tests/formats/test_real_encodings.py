"""How often an accelerated tokenizer encodes by the real one: never, for whatever transformers itself asks.

Also what threads get that use one tokenizer. `make test-slow` runs both with transformers 4, too.
"""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
import tokenizers

from bpetite import accelerate
from bpetite.interfaces.call_settings import Lender
from bpetite.interfaces.huggingface import HuggingFaceTokenizer
from test_transformers import CHAT, TEXTS, file_of, shown, wrapped

ENCODING = ("encode", "encode_batch", "encode_batch_fast", "post_process")
ENCODING_LATER = ("async_encode", "async_encode_batch", "async_encode_batch_fast")


class Counting:
    """A real tokenizer that counts how often it encodes."""

    def __init__(self, real: Any) -> None:
        self.__dict__.update(real=real, calls=[])

    def __getattr__(self, name: str) -> Any:
        if name in (*ENCODING, *ENCODING_LATER):
            self.calls.append(name)
        return getattr(self.real, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.real, name, value)


def tokenizer_of(kind: str) -> Any:
    """A tokenizer of transformers; its added tokens are spelled by their names."""
    if kind != "bytes":
        return wrapped(kind, tokenizers.Tokenizer.from_str(file_of(kind)))
    document = json.loads(file_of(kind))
    added = [token for token in document["added_tokens"] if token["special"]]
    for token_id, token in enumerate(added, len(document["model"]["vocab"])):
        token["id"] = token_id
        if token["content"] == "<bos>":
            document["post_processor"]["special_tokens"]["<bos>"]["ids"] = [token_id]
    return wrapped(
        kind, tokenizers.Tokenizer.from_str(json.dumps({**document, "added_tokens": added}))
    )


def counted(tokenizer: Any) -> tuple[Any, Counting]:
    """An accelerated tokenizer of transformers, and the one in it that counts."""
    fast = accelerate(tokenizer)
    ours = fast._tokenizer
    counting = Counting(ours._own_real())
    ours._own = Lender(counting)
    return fast, counting


def all_of(encodings: Any) -> list[Any]:
    """What `BatchEncoding` asks of encodings, except words."""
    return [
        (
            encoding.ids,
            encoding.tokens,
            encoding.sequence_ids,
            encoding.n_sequences,
            encoding.special_tokens_mask,
            len(encoding),
            [encoding.char_to_token(place) for place in range(9)],
            [encoding.token_to_chars(place) for place in range(9)],
            [encoding.token_to_sequence(place) for place in range(9)],
            all_of(encoding.overflowing),
        )
        for encoding in encodings
    ]


def called(*arguments: Any, **options: Any) -> Callable[[Any], Any]:
    def call(tok: Any) -> Any:
        encoded = tok(*arguments, **options)
        return dict(encoded), all_of(encoded.encodings)

    return call


def of_chat(tok: Any) -> Any:
    generated = {"return_dict": True, "return_assistant_tokens_mask": True}
    return [
        dict(tok.apply_chat_template(CHAT, return_dict=True)),
        dict(tok.apply_chat_template(CHAT, **generated)),
        dict(tok.apply_chat_template([CHAT, CHAT[:2]], padding=True, **generated)),
        dict(tok.apply_chat_template(CHAT, truncation=True, max_length=9, **generated)),
    ]


EVERYTHING = {
    "return_offsets_mapping": True,
    "return_special_tokens_mask": True,
    "return_length": True,
}
CUT = {"truncation": True, "max_length": 7}
CALLS: dict[str, Callable[[Any], Any]] = {
    "a text": lambda tok: [called(text, **EVERYTHING)(tok) for text in TEXTS],
    "texts": called(TEXTS, **EVERYTHING),
    "padding": called(TEXTS, padding=True, **EVERYTHING),
    "padding to a length": called(TEXTS, padding="max_length", max_length=30, **EVERYTHING),
    "padding to a multiple": called(TEXTS, padding=True, pad_to_multiple_of=8),
    "padding on the left": called(TEXTS, padding=True, padding_side="left", **EVERYTHING),
    "truncation": called(TEXTS, **CUT, **EVERYTHING),
    "truncation and padding": called(TEXTS, padding=True, **CUT, **EVERYTHING),
    "overflow": called(
        TEXTS, stride=2, return_overflowing_tokens=True, padding=True, **CUT, **EVERYTHING
    ),
    "overflow that nobody wants": called(TEXTS, stride=1, **CUT),
    "no special tokens": called(TEXTS, add_special_tokens=False),
    "special tokens as text": called(TEXTS, split_special_tokens=True),
    "arrays": lambda tok: tok(TEXTS, padding=True, return_tensors="np")["input_ids"].tolist(),
    "encode": lambda tok: [tok.encode(text) for text in TEXTS],
    "encode, cut": lambda tok: [tok.encode(text, max_length=4, truncation=True) for text in TEXTS],
    "tokenize": lambda tok: [tok.tokenize(text) for text in TEXTS],
    "padding later": lambda tok: dict(tok.pad(tok(TEXTS), padding=True, pad_to_multiple_of=4)),
    "a chat": of_chat,
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kind", ["bytes", "Llama 2"])
def test_whatever_transformers_asks_is_answered_without_a_real_encoding(
    kind: str, name: str
) -> None:
    real = tokenizer_of(kind)
    fast, counting = counted(real)
    for _ in range(2):
        assert CALLS[name](fast) == CALLS[name](real)
    assert counting.calls == []


def test_real_encodings_are_counted() -> None:
    fast, counting = counted(tokenizer_of("bytes"))
    encoded = fast(TEXTS[:2])
    assert counting.calls == []
    encoded.word_ids(0)
    encoded.word_ids(0)
    assert counting.calls == ["encode_batch"]
    fast(TEXTS[0], TEXTS[1])
    assert counting.calls == ["encode_batch"] * 2


def test_properties_are_the_same_in_any_order() -> None:
    """Also after the real encoding has taken the place of ours."""
    real = wrapped("bytes", tokenizers.Tokenizer.from_str(file_of("bytes")))
    fast = accelerate(real)
    drawn = random.Random(1)
    options = {"padding": True, "return_overflowing_tokens": True, "stride": 1, **CUT}
    for _ in range(30):
        theirs, ours = real(TEXTS, **options), fast(TEXTS, **options)
        for place in drawn.sample(range(len(ours.encodings)), 3):
            assert ours.word_ids(place) == theirs.word_ids(place)
        assert shown(ours) == shown(theirs)
        assert all_of(ours.encodings) == all_of(theirs.encodings)


# Threads
# -------------------------------------------------------------------------------------------------

THREADS, ROUNDS = 8, 150


def settings_of(number: int) -> dict[str, Any]:
    """Other settings of a call for each thread."""
    truncation = {"truncation": True, "max_length": 2 + number} if number else {}
    padding = {"padding": "max_length", "max_length": 2 + number} if number % 3 == 2 else {}
    return {**truncation, **padding, "split_special_tokens": number % 2 == 1}


def in_threads(work: Callable[[int], list[Any]]) -> list[list[Any]]:
    """The results of several threads that begin together."""
    begin = Barrier(THREADS)

    def started(number: int) -> list[Any]:
        begin.wait()
        return work(number)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # a thread is interrupted within a call
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(started, range(THREADS)))
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.parametrize("kind", ["bytes", "Llama 2"])
@pytest.mark.parametrize("is_pair", [False, True])
def test_what_a_thread_sets_holds_for_its_call(kind: str, is_pair: bool) -> None:
    """Pairs are encoded by the real tokenizer, which all threads share."""
    real = tokenizer_of(kind)
    text = "<bos>" + TEXTS[4]
    items = [(text, text)] * 2 if is_pair else [text, TEXTS[1]]

    def work(tok: Any, number: int) -> Any:
        encoded = tok(items, **settings_of(number))
        return dict(encoded), [encoded.tokens(place) for place in range(2)]

    expected = [work(real, number) for number in range(THREADS)]
    assert len({str(result) for result in expected}) == THREADS
    fast = accelerate(real)
    results = in_threads(lambda number: [work(fast, number) for _ in range(ROUNDS)])
    for rows, one in zip(results, expected, strict=True):
        assert [row for row in rows if row != one] == []


def test_the_real_tokenizer_follows_other_threads() -> None:
    """Otherwise the test above would prove nothing."""
    real = tokenizer_of("bytes")

    def length(number: int) -> int:
        try:
            return len(real(TEXTS[4], truncation=True, max_length=2 + number)["input_ids"])
        except RuntimeError:  # tokenizers 0.22 refuses what comes at the same time
            return -1

    for _ in range(50):
        lengths = in_threads(lambda number: [length(number) for _ in range(ROUNDS)])
        if any(set(row) != {2 + number} for number, row in enumerate(lengths)):
            return
    raise AssertionError("no result was wrong")


def test_settings_of_one_thread_are_those_of_another_that_sets_none() -> None:
    ours = HuggingFaceTokenizer(tokenizers.Tokenizer.from_str(file_of("bytes")))

    def in_thread(call: Callable[[], Any]) -> Any:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(call).result()

    def length() -> int:
        return len(ours.encode("a b the cat"))

    whole = length()
    ours.enable_truncation(3)
    assert in_thread(length) == length() == length() == 3
    in_thread(lambda: ours.enable_truncation(2))
    assert length() == 2
    ours.enable_truncation(4)
    in_thread(ours.no_truncation)
    assert (length(), length()) == (4, whole)  # what this thread has set holds for its next call
    assert ours.truncation is None
    ours.enable_padding(length=30)
    assert in_thread(lambda: ours.padding)["length"] == 30
    assert in_thread(length) == 30
    ours.encode_special_tokens = True
    assert in_thread(lambda: ours.encode("<bos>", add_special_tokens=False).tokens[0]) != "<bos>"
    assert ours.encode("<bos>", add_special_tokens=False).tokens[0] != "<bos>"


def test_every_method_of_the_real_tokenizer_that_follows_settings_gets_those_of_its_thread() -> (
    None
):
    """A name that is new here must be looked at: does it follow truncation, padding or special tokens?"""
    without = {
        "decode",
        "decode_batch",
        "async_decode_batch",
        "get_vocab",
        "get_vocab_size",
        "id_to_token",
    }
    without |= {
        "token_to_id",
        "get_added_tokens_decoder",
        "num_special_tokens_to_add",
        "add_tokens",
    }
    without |= {
        "add_special_tokens",
        "train",
        "train_from_iterator",
        "model",
        "normalizer",
        "pre_tokenizer",
    }
    without |= {
        "post_processor",
        "decoder",
        "from_str",
        "from_file",
        "from_buffer",
        "from_pretrained",
    }
    names = {name for name in dir(tokenizers.Tokenizer) if not name.startswith("_")}
    followed = names - without - {"to_str", "save"}
    assert followed == followed & set(vars(HuggingFaceTokenizer))
    ours = HuggingFaceTokenizer(tokenizers.Tokenizer.from_str(file_of("bytes")))
    ours.enable_truncation(5)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(ours.no_truncation).result()
    for written in (ours.to_str(), repr(ours), str(ours.__getstate__())):
        assert "max_length" in written


# Memory
# --------------------------------------------------------------------------------------------------

HUGE = """
import sys, tokenizers, transformers
from bpetite import accelerate
plain = tokenizers.Tokenizer.from_file(sys.argv[1])
ours = accelerate(plain)
fast = accelerate(transformers.PreTrainedTokenizerFast(tokenizer_object=plain, pad_token="<pad>"))
largest = 2**64 - 1
paddings = [dict(length=10**12), dict(length=10**10, pad_to_multiple_of=3), dict(length=largest)]
paddings += [dict(length=largest, pad_to_multiple_of=1000), dict(pad_to_multiple_of=10**12)]
paddings += [dict(pad_to_multiple_of=largest)]
refused = 0
def refuse(call):
    global refused
    try:
        call()
    except MemoryError:
        refused += 1
    else:
        raise AssertionError(call)
for padding in paddings:
    encoding = ours.encode("a b")
    ours.enable_padding(**padding)
    refuse(lambda: ours.encode("a b"))
    refuse(lambda: ours.encode_batch(["a", "b"]))
    refuse(lambda: ours.encode_batch_fast(["a", "b"]))
    refuse(lambda: ours.encode("a", "b"))
    refuse(lambda: ours.encode_batch([("a", "b")]))
    refuse(lambda: ours.encode(["a", "b"], is_pretokenized=True))
    refuse(lambda: ours.post_process(encoding))
    refuse(lambda: encoding.pad(padding.get("length", 10**12)))
    ours.no_padding()
for length in (10**12, largest):
    refuse(lambda: fast("a b", padding="max_length", max_length=length))
    refuse(lambda: fast("a b", "a", padding="max_length", max_length=length))
    refuse(lambda: fast(["a"], padding=True, pad_to_multiple_of=length))
    for stride in (0, length // 2):
        plain.enable_truncation(length, stride=stride)
        ours.enable_truncation(length, stride=stride)
        assert ours.encode("a b").ids == plain.encode("a b").ids
        assert ours.encode("a", "b").ids == plain.encode("a", "b").ids
        assert ours.encode("a b").overflowing == []
print(refused)
"""


def test_no_size_that_can_be_set_aborts_the_process(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(file_of("bytes"))
    done = subprocess.run(
        [sys.executable, "-c", HUGE, path], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"{6 * 8 + 2 * 3}\n"), done.stderr


# Transformers 4
# ------------------------------------------------------------------------------------------

GENERATION_4 = Path(sys.prefix) / "transformers4"
"""Where `make test-slow` installs the last transformers of generation 4, if it can be had."""

AGAIN = """
import sys, pytest, transformers
assert transformers.__version__.startswith("4."), transformers.__version__
sys.exit(pytest.main(sys.argv[1:]))
"""


@pytest.mark.skipif(
    not (GENERATION_4 / ".ready").exists(),
    reason="make test-slow installs transformers 4, if it can",
)
def test_all_of_this_holds_with_transformers_4() -> None:
    room = Path(__file__).parent
    names = ("test_real_encodings", "test_transformers", "test_copies", "test_serving")
    files = [room / f"{name}.py" for name in names]
    options = ["-q", "-p", "no:cacheprovider", "-k", "not with_transformers_4"]
    done = subprocess.run(
        [sys.executable, "-c", AGAIN, *options, *files],
        cwd=room.parents[1],
        env={**os.environ, "PYTHONPATH": str(GENERATION_4)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:]
