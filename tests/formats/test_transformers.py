"""What transformers does with a fast tokenizer, with ours inside and with the real one: the same."""

import copy
import json
import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tokenizers
import transformers
from tokenizers import AddedToken, processors

from bpetite import Tokenizer, accelerate
from bpetite.interfaces.huggingface import HuggingFaceTokenizer
from test_cli import bpetite
from test_huggingface_interface import a_real_one
from test_sentencepiece import SETTINGS, document, trained

TEXTS = [
    "a b é e\u0301!",
    "the <pad> cat 's  it<bos>\n\n",
    "",
    " x",
    "naïve 東京 😀 ' n't . , don't",
    "zzz zz <x>",
]
CHAT = [
    {"role": "user", "content": "a b <bos> é"},
    {"role": "assistant", "content": "the cat"},
    {"role": "user", "content": "zzz 😀"},
]
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ message['role'] }}: "
    "{% if message['role'] == 'assistant' %}{% generation %}{{ message['content'] }}{% endgeneration %}"
    "{% else %}{{ message['content'] }}{% endif %}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)
LOAD: Any = transformers.PreTrainedTokenizerFast  # its annotations are incomplete


@cache
def file_of(kind: str) -> str:
    if kind != "bytes":
        return json.dumps(document(trained("llama"), kind))
    real = a_real_one()
    bos = real.token_to_id("<bos>")
    real.post_processor = processors.TemplateProcessing(
        "<bos> $A", "<bos> $A $B:1", [("<bos>", bos)]
    )
    return str(real.to_str())


def wrapped(kind: str, tokenizer: Any) -> Any:
    named = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "</s>", "unk_token": "<unk>"}
    if kind == "bytes":
        named = {"bos_token": "<bos>", "eos_token": "<bos>", "pad_token": "<pad>"}
    return LOAD(tokenizer_object=tokenizer, chat_template=TEMPLATE, model_max_length=40, **named)


def three_of(kind: str) -> list[Any]:
    """The real tokenizer, one made with ours, and the real one accelerated."""
    real = tokenizers.Tokenizer.from_str(file_of(kind))
    return [
        wrapped(kind, real),
        wrapped(kind, HuggingFaceTokenizer(real)),
        accelerate(wrapped(kind, real)),
    ]


@pytest.mark.parametrize("kind", ["bytes", "Llama 2"])
def test_changing_an_accelerated_tokenizer_leaves_the_given_one_as_it_was(kind: str) -> None:
    """Transformers changes the names of special tokens in place."""
    real = wrapped(kind, tokenizers.Tokenizer.from_str(file_of(kind)))
    real.init_kwargs["nested"] = {"of": ["it"]}
    before = (str(vars(real)), real.special_tokens_map, len(real), real("a<new>")["input_ids"])
    fast = accelerate(real)
    fast.pad_token = "<pad of its own>"
    fast.add_special_tokens({"mask_token": "<mask>", "additional_special_tokens": ["<new>"]})
    fast.add_tokens(["a<"])
    fast.model_input_names.append("x")
    fast.init_kwargs["x"] = 1
    fast.init_kwargs["nested"]["of"].append("x")
    fast.chat_template = "y"
    assert (
        str(vars(real)),
        real.special_tokens_map,
        len(real),
        real("a<new>")["input_ids"],
    ) == before
    assert fast.pad_token == "<pad of its own>"


def shown(value: Any) -> Any:
    """The tokens of a batch of encodings and their properties, as plain values."""
    if not isinstance(value, transformers.BatchEncoding):
        return value
    rows = value["input_ids"]
    if not rows or isinstance(rows[0], int) or not value.encodings:
        return dict(value)
    places = range(len(rows))
    return (
        dict(value),
        [value.tokens(place) for place in places],
        [value.word_ids(place) for place in places],
        [value.sequence_ids(place) for place in places],
        [value.char_to_token(place, at) for place in places for at in range(8)],
        [value.char_to_word(place, at) for place in places for at in range(8)],
        [
            value.token_to_chars(place, at)
            for place in places
            for at in range(min(3, len(rows[place])))
        ],
        [
            value.token_to_word(place, at)
            for place in places
            for at in range(min(3, len(rows[place])))
        ],
        [value.word_to_tokens(place, at) for place in places for at in range(2)],
        [value.word_to_chars(place, 0) for place in places if value.word_to_tokens(place, 0)],
    )


def called(**options: Any) -> Callable[[Any], Any]:
    return lambda tok: shown(tok(TEXTS, **options))


def with_attribute(name: str, value: Any, then: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def done(tok: Any) -> Any:
        setattr(tok, name, value)
        return then(tok)

    return done


def changed(tok: Any) -> Any:
    counts = [
        tok.add_tokens(
            ["zzz", AddedToken("é", normalized=True), AddedToken("cat", single_word=True)]
        ),
        tok.add_tokens(["zzz"]),
        tok.add_special_tokens(
            {"additional_special_tokens": ["<x>", AddedToken("n't", lstrip=True)]}
        ),
        tok.add_special_tokens({"sep_token": "<sep>", "cls_token": "<bos>"}),
    ]
    return (
        counts,
        len(tok),
        tok.vocab_size,
        tok.get_added_vocab(),
        tok.all_special_tokens,
        tok.all_special_ids,
    )


def of_changed(tok: Any) -> Any:
    told = changed(tok)
    return told, shown(tok(TEXTS, return_offsets_mapping=True)), decoded(tok)


def decoded(tok: Any) -> Any:
    rows = tok(TEXTS)["input_ids"]
    return [
        [tok.decode(row) for row in rows],
        tok.batch_decode(rows, skip_special_tokens=True),
        tok.batch_decode(rows, clean_up_tokenization_spaces=True),
        tok.batch_decode(rows, skip_special_tokens=True, clean_up_tokenization_spaces=False),
        [tok.convert_tokens_to_string(tok.convert_ids_to_tokens(row)) for row in rows],
    ]


def of_vocabulary(tok: Any) -> Any:
    tokens = [tok.tokenize(text) for text in TEXTS]
    return (
        len(tok),
        tok.get_vocab(),
        tok.vocab,
        tokens,
        [tok.convert_tokens_to_ids(row) for row in tokens],
        tok.convert_tokens_to_ids("a"),
        tok.convert_tokens_to_ids("no such token"),
        tok.convert_ids_to_tokens(range(len(tok)), skip_special_tokens=True),
        tok.special_tokens_map,
        tok.is_fast,
        tok.num_special_tokens_to_add(pair=True),
    )


def of_chat(tok: Any) -> Any:
    return (
        tok.apply_chat_template(CHAT, tokenize=False, add_generation_prompt=True),
        shown(tok.apply_chat_template(CHAT)),
        shown(
            tok.apply_chat_template([CHAT, CHAT[:1]], padding=True, truncation=True, max_length=30)
        ),
        dict(tok.apply_chat_template(CHAT, return_dict=True, return_assistant_tokens_mask=True)),
        shown(tok.apply_chat_template(CHAT[:2], continue_final_message=True)),
    )


def of_pairs(tok: Any) -> Any:
    pairs = list(zip(TEXTS, reversed(TEXTS), strict=True))
    words = [text.split(" ") for text in TEXTS]
    return [
        shown(
            tok(
                pairs,
                padding=True,
                truncation="longest_first",
                max_length=25,
                return_offsets_mapping=True,
            )
        ),
        shown(tok(TEXTS, TEXTS, truncation="longest_first", max_length=9)),
        shown(tok(words, is_split_into_words=True, return_offsets_mapping=True)),
        shown(tok(words, words, is_split_into_words=True, padding="max_length", max_length=60)),
    ]


def padded(tok: Any) -> Any:
    rows = tok(TEXTS)
    return [
        dict(tok.pad(rows, padding=True, pad_to_multiple_of=8)),
        dict(tok.pad({"input_ids": rows["input_ids"][:2]}, padding="max_length", max_length=50)),
        tok(TEXTS, padding=True, return_tensors="np")["input_ids"].tolist(),
    ]


def trained_anew(tok: Any) -> Any:
    new = tok.train_new_from_iterator(["the cat the hat", "naïve cafés"] * 4, len(tok) + 20)
    return new.get_vocab(), shown(new(TEXTS, return_offsets_mapping=True)), decoded(new)


BEHAVIOURS: dict[str, Callable[[Any], Any]] = {
    "a call": called(),
    "one text": lambda tok: [dict(tok(text, return_offsets_mapping=True)) for text in TEXTS],
    "everything": called(
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
        return_token_type_ids=True,
        return_length=True,
        padding=True,
    ),
    "no special tokens": called(add_special_tokens=False),
    "overflow": called(
        truncation=True,
        max_length=7,
        stride=2,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    ),
    "overflow, padded": called(
        truncation=True, max_length=7, stride=2, return_overflowing_tokens=True, padding=True
    ),
    "truncated to the model's length": called(truncation=True, padding="max_length"),
    "padded on the left": with_attribute("padding_side", "left", called(padding=True)),
    "truncated on the left": with_attribute(
        "truncation_side", "left", called(truncation=True, max_length=5)
    ),
    "as text": with_attribute("split_special_tokens", True, called()),
    "padding": padded,
    "padding on the left": with_attribute("padding_side", "left", padded),
    "pairs and words": of_pairs,
    "decoding": decoded,
    "the vocabulary": of_vocabulary,
    "chat templates": of_chat,
    "added tokens": of_changed,
    "a padding token of its own": lambda tok: (
        tok.add_special_tokens({"pad_token": "<p>"}),
        shown(tok(TEXTS, padding=True)),
    ),
    "decoding without spaces before marks": with_attribute(
        "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output", True, decoded
    ),
    "encode": lambda tok: [tok.encode(text, add_special_tokens=False) for text in TEXTS],
    "training anew": trained_anew,
}


KINDS = ["bytes", *list(SETTINGS)[:2]]


@pytest.mark.parametrize("name", BEHAVIOURS)
@pytest.mark.parametrize("kind", KINDS)
def test_transformers_does_the_same_with_ours_inside(kind: str, name: str) -> None:
    behave = BEHAVIOURS[name]
    real, *ours = three_of(kind)
    expected = behave(real)
    for tok in ours:
        assert type(tok._tokenizer) is HuggingFaceTokenizer
        assert behave(tok) == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_changed", [False, True])
def test_it_is_saved_copied_and_pickled_like_the_real_one(
    kind: str, is_changed: bool, tmp_path: Path
) -> None:
    real, *ours = three_of(kind)
    load: Any = transformers.AutoTokenizer
    for number, tok in enumerate([real, *ours]):
        if is_changed:
            changed(tok)
        tok.padding_side = "left"
        tok.save_pretrained(tmp_path / str(number))
    files = {path.name for path in (tmp_path / "0").iterdir()}
    assert {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja"} <= files
    for number in (1, 2):
        assert {path.name for path in (tmp_path / str(number)).iterdir()} == files
        for name in files:
            written, expected = (
                (tmp_path / place / name).read_bytes() for place in (str(number), "0")
            )
            assert written == expected
    told = BEHAVIOURS["everything"](real)
    for tok in ours:
        for made in (tok, copy.copy(tok), copy.deepcopy(tok), pickle.loads(pickle.dumps(tok))):
            assert type(made._tokenizer) is HuggingFaceTokenizer
            assert BEHAVIOURS["everything"](made) == told
            assert made.padding_side == "left"
    for loaded in (load.from_pretrained, LOAD.from_pretrained):
        again = loaded(tmp_path / "0")
        assert BEHAVIOURS["everything"](accelerate(again)) == BEHAVIOURS["everything"](again)


def test_a_deep_copy_is_changed_by_itself() -> None:
    _, ours, _ = three_of("bytes")
    before = ours(TEXTS)["input_ids"]
    apart = copy.deepcopy(ours)
    apart.add_tokens(["zzz"])
    assert apart(TEXTS)["input_ids"] != before == ours(TEXTS)["input_ids"]


# Folders
# -------------------------------------------------------------------------------------------------


def trained_with_specials() -> Tokenizer:
    specials = ["<|endoftext|>", "<|pad|>", "<|user|>"]
    return Tokenizer.train_from_iterator(
        TEXTS * 9, 300, dialect="huggingface", special_tokens=specials
    )


def check_auto(tok: Tokenizer, folder: Path) -> Any:
    """Load a folder as transformers does, and compare."""
    auto: Any = transformers.AutoTokenizer.from_pretrained(folder)
    for text in [*TEXTS, "<|user|>a b<|endoftext|><|pad|>"]:
        ids = tok.encode(text)
        assert auto.encode(text, add_special_tokens=False) == ids
        assert auto.decode(ids) == text
    return auto


CHANGES: dict[str, Callable[[Tokenizer], Tokenizer]] = {
    "trained": lambda tok: tok,
    "extended": lambda tok: tok.extend(["zzz zzzz ттт"], 5),
    "truncated": lambda tok: tok.truncate(280),
    "extended and truncated": lambda tok: tok.extend(["zzz zzzz ттт"], 5).truncate(270),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_folder_has_all_that_transformers_needs(change: str, tmp_path: Path) -> None:
    tok = trained_with_specials()
    tok.save_folder(tmp_path / "first", pad_token="<|pad|>", chat_template=TEMPLATE)
    (tmp_path / "first" / "chat_template.jinja").write_text(TEMPLATE)
    (tmp_path / "first" / "vocab.json").write_text("{}")  # which an extended tokenizer contradicts
    for source in (tok, Tokenizer.load(tmp_path / "first")):
        made, folder = CHANGES[change](source), tmp_path / f"of {source is tok}"
        settings: Any = {"pad_token": "<|pad|>", "chat_template": TEMPLATE} if source is tok else {}
        made.save_folder(folder, **settings)
        auto = check_auto(made, folder)
        assert (auto.eos_token, auto.pad_token) == ("<|endoftext|>", "<|pad|>")
        assert auto.pad_token_id == made.special_tokens["<|pad|>"]
        assert auto.apply_chat_template(CHAT, tokenize=False).startswith("user: a b <bos> é")
        assert (folder / "vocab.json").exists() == (source is not tok and made == source)
    made.save_folder(tmp_path / "other", pad_token="<|user|>", chat_template="{{ 7 }}")
    auto = check_auto(made, tmp_path / "other")
    assert (auto.pad_token, auto.apply_chat_template(CHAT, tokenize=False)) == ("<|user|>", "7")


def test_what_a_folder_of_other_files_says_is_kept(tmp_path: Path) -> None:
    tok = trained_with_specials()
    folder = tmp_path / "gpt2"
    folder.mkdir()
    tok.to_gpt2(folder / "vocab.json", folder / "merges.txt")
    named = {"eos_token": "<|endoftext|>", "pad_token": "<|pad|>", "sep_token": "<x>"}
    config = {"tokenizer_class": "GPT2Tokenizer", "chat_template": TEMPLATE, **named}
    added = {
        str(token_id): {"content": text, "special": True}
        for text, token_id in tok.special_tokens.items()
    }
    (folder / "tokenizer_config.json").write_text(
        json.dumps({**config, "added_tokens_decoder": added})
    )
    read = Tokenizer.load(folder)
    for made in (read, read.extend(["zzz zzzz"], 3)):
        made.save_folder(tmp_path / "out", overwrite=True)
        auto = check_auto(made, tmp_path / "out")
        assert (auto.pad_token, auto.sep_token, auto.chat_template) == ("<|pad|>", "<x>", TEMPLATE)


@pytest.mark.parametrize("kind", ["huggingface", "gpt2"])
def test_the_roles_in_a_map_of_special_tokens_are_kept(kind: str, tmp_path: Path) -> None:
    tok, folder = trained_with_specials(), tmp_path / "source"
    folder.mkdir()
    if kind == "gpt2":
        tok.to_gpt2(folder / "vocab.json", folder / "merges.txt")
    else:
        tok.to_huggingface(folder / "tokenizer.json")
    roles = {
        "bos_token": "<|user|>",
        "unk_token": {"content": "<|endoftext|>"},
        "pad_token": "<|pad|>",
    }
    (folder / "special_tokens_map.json").write_text(json.dumps(roles))
    (folder / "added_tokens.json").write_text(json.dumps(dict(tok.special_tokens)))
    read = Tokenizer.load(folder)
    for made in (read, read.extend(["zzz zzzz"], 3), read.truncate(280)):
        made.save_folder(tmp_path / "out", overwrite=True)
        auto = check_auto(made, tmp_path / "out")
        assert (auto.bos_token, auto.unk_token, auto.pad_token) == (
            "<|user|>",
            "<|endoftext|>",
            "<|pad|>",
        )


def test_a_folder_is_written_by_the_command_line(tmp_path: Path) -> None:
    tok = trained_with_specials()
    tok.save(tmp_path / "tok.json")
    (tmp_path / "chat.jinja").write_text(TEMPLATE)
    convert = (
        "convert",
        tmp_path / "tok.json",
        f"{tmp_path}/q/",
        "--chat-template",
        tmp_path / "chat.jinja",
    )
    assert (
        b"--chat-template is for a folder of huggingface"
        in bpetite(*convert, "--to", "gpt2").stderr
    )
    wrong = bpetite(*convert, "--to", "huggingface", "--pad-token", "<pad>")
    assert (wrong.returncode, wrong.stdout) == (1, b"")
    assert b"--pad-token: '<pad>' is not a special token ('<|endoftext|>', " in wrong.stderr
    assert b"name one that is, or train with it" in wrong.stderr
    assert not (tmp_path / "q").exists()
    assert bpetite(*convert, "--to", "huggingface", "--pad-token", "<|pad|>").returncode == 0
    auto = check_auto(tok, tmp_path / "q")
    assert (auto.pad_token, auto.chat_template) == ("<|pad|>", TEMPLATE)
