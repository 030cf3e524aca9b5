"""What people try first works, or says what to do instead."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bpetite import Counts, Dialect, Tokenizer
from bpetite.cli import COMMANDS, parser_of
from bpetite.corpus import Documents, stats
from test_cli import bpetite


@pytest.fixture
def model(tmp_path: Path) -> Path:
    tokenizer = Tokenizer.train_from_iterator(
        ["the cat and the hat"], 262, special_tokens=["<|end|>"]
    )
    tokenizer.save(tmp_path / "tok.json")
    return tmp_path / "tok.json"


def test_a_model_is_taken_with_its_option_or_without(model: Path) -> None:
    text = model.with_name("a.txt")
    text.write_text("the cat")
    for command in (
        ["encode", "--text", "the cat"],
        ["stats", "--input", str(text)],
        ["inspect", "--json"],
    ):
        results = [
            bpetite(*command, "--model", str(model)),
            bpetite(command[0], str(model), *command[1:]),
            bpetite(command[0], "--model", str(model), *command[1:]),
        ]
        assert [one.returncode for one in results] == [0, 0, 0]
        assert len({one.stdout for one in results}) == 1
    for models in ([], [model, model]):
        refused = bpetite("encode", *map(str, models), "--text", "a")
        assert (refused.returncode, refused.stdout) == (2, b"")
        assert b"MODEL" in refused.stderr.splitlines()[-1]


def test_words_stand_before_options_or_behind_them(model: Path) -> None:
    text, out = model.with_name("a.txt"), model.with_name("tokenizer.json")
    text.write_text("the cat")
    for words in (
        (model, "--force", out),
        ("--model", model, out, "--force"),
        ("--model", model, "--force", "--output", out),
        (out, "--force", "--model", model),
    ):
        assert bpetite("convert", *words).returncode == 0
        assert Tokenizer.load(out).encode("the hat") == Tokenizer.load(model).encode("the hat")
        out.unlink()
    one, other = (
        bpetite("count-tokens", *words)
        for words in ((model, "--quiet", text), (text, "--model", model))
    )
    assert (one.returncode, one.stdout) == (0, other.stdout)
    wrong: dict[str, list[str | Path]] = {
        "MODEL": [],
        "OUT": [model],
        "one MODEL, not 2": [model, "a", "--output", "b"],
    }
    for lacking, given in wrong.items():
        refused = bpetite("convert", *given)
        assert (refused.returncode, refused.stdout) == (2, b"")
        assert lacking.encode() in refused.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gpt-4o", "o200k_base.tiktoken"),
        ("gpt-4o-mini", "o200k_base.tiktoken"),
        ("o3", "o200k_base.tiktoken"),
        ("GPT-4", "cl100k_base.tiktoken"),
        ("gpt2", "`python -c \"import tiktoken; tiktoken.get_encoding('gpt2')\"` to fetch it"),
        ("llama3", "`hf download meta-llama/MODEL tokenizer.json`"),
        ("Qwen2.5-7B", "`hf download Qwen/MODEL tokenizer.json`"),
        ("mistral", "`hf download mistralai/MODEL tokenizer.json`"),
        ("claude-3", "its maker has not published its tokenizer"),
        (
            "cl100k",
            "the file that is at https://openaipublic.blob.core.windows.net/encodings/cl100k_base",
        ),
        ("Qwen/Qwen3-0.6B", "`hf download Qwen/Qwen3-0.6B tokenizer.json`"),
    ],
)
def test_the_name_of_a_model_tells_which_file_to_get(name: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such file or folder; ") as refused:
        Tokenizer.load(name)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "name", ["missing.json", "gpt-4o.json", "folder/tokenizer.model", "ab", "phishing"]
)
def test_any_other_missing_path_is_a_missing_file(name: str) -> None:
    with pytest.raises(FileNotFoundError, match="No such file"):
        Tokenizer.load(name)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            b"It was the best of times",
            "it begins with b'It was the best of times', unlike any file",
        ),
        (b"PAR1\x15\x04", "a table of Parquet"),
        (b"\x28\xb5\x2f\xfd\x04", "compressed by zstd"),
        (b"\x7fELF\x02\x01", "unlike any file of a tokenizer"),
    ],
)
def test_a_file_that_is_no_model_is_refused_by_how_it_begins(
    content: bytes, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "corpus"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="corpus: ") as refused:
        Tokenizer.load(path)
    assert said in str(refused.value)


def test_a_token_is_inspected_by_its_text(model: Path) -> None:
    tokenizer = Tokenizer.load(model)
    for text, token_id in (
        ("the", tokenizer.token_id("the")),
        ("<|end|>", tokenizer.special_tokens["<|end|>"]),
    ):
        shown = bpetite("inspect", str(model), "--token", text, "--json")
        assert json.loads(shown.stdout)["id"] == token_id
        assert (
            shown.stdout
            == bpetite("inspect", str(model), "--token", str(token_id), "--json").stdout
        )
    he = tokenizer.token_id("he")
    facts = json.loads(bpetite("inspect", str(model), "--token", "e", "--json").stdout)
    assert facts["part_of"] == [he]
    lines = bpetite("inspect", str(model), "--token", "e").stdout.decode()
    assert 'token 101  "e"\n1 byte: 65\nno merge makes it\npart of 1 longer token: "he"\n' in lines
    refused = bpetite("inspect", str(model), "--token", "dog")
    assert (refused.returncode, refused.stdout) == (1, b"")
    assert b"'dog' is not one of the 263 tokens; it is encoded as 100 111 103" in refused.stderr


def test_what_is_long_is_cut_for_people_and_whole_as_json(tmp_path: Path) -> None:
    model, pattern = tmp_path / "tok.json", "|".join(f"word{number}" for number in range(99))
    long = Tokenizer.train_from_iterator(["-" * 600], 266, pattern=f"-+|{pattern}")
    long.save(model)
    longest = max(long.vocabulary.tokens, key=lambda own: len(long.token_bytes(own)))
    for options in ([], ["--token", str(longest)]):
        shown = bpetite("inspect", model, *options).stdout.decode()
        assert "…" in shown
        assert max(map(len, shown.splitlines()[1:])) <= 80  # the first line is the path
    assert "… (--json has all)\n" in bpetite("inspect", model).stdout.decode()
    assert pattern in json.loads(bpetite("inspect", model, "--json").stdout)["pattern"]


def test_help_begins_with_purpose_and_examples() -> None:
    for name in COMMANDS:
        usage, purpose, examples, *_ = parser_of(name).format_help().split("\n\n")
        assert usage.startswith(f"usage: bpetite {name}")
        assert len(usage.splitlines()) <= 2
        assert purpose.endswith(".")
        assert examples.startswith("examples:\n  bpetite ")


def test_characters_for_each_token_do_not_rank_alphabets() -> None:
    tokenizer = Tokenizer.train("", 256)
    latin, cyrillic = (stats(tokenizer, Documents([text]))[0] for text in ("da", "да"))
    assert latin.bytes_per_token == cyrillic.bytes_per_token == 1
    assert (latin.characters_per_token, cyrillic.characters_per_token) == (1, 0.5)


def test_numbers_may_have_units(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the cat and the hat " * 9)
    sizes = {"1024", "1.024k"}
    train = ("train", "--input", tmp_path / "a.txt", "--quiet", "--output")
    for size in sizes:
        assert bpetite(*train, tmp_path / size, "--vocab-size", size).returncode == 0
    assert len({(tmp_path / size).read_bytes() for size in sizes}) == 1
    for wrong in ("32x", "k", "1.5", ""):
        refused = bpetite(*train, tmp_path / "no", "--vocab-size", wrong)
        assert refused.returncode == 2
        said = (
            f"argument --vocab-size: {wrong!r} is not a whole number, such as 300, 32k, 1M or 10B"
        )
        assert said.encode() in refused.stderr


def test_training_takes_the_special_tokens_of_counts(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the cat<|x|>the hat<|y|>" * 9)
    counted, trained = tmp_path / "a.counts", tmp_path / "tok.json"
    rules = ("--dialect", "tiktoken")
    special = ("--special-token", "<|y|>", "<|x|>")
    count = ("count", "--input", tmp_path / "a.txt", "--output", counted, *rules, *special)
    assert bpetite(*count).returncode == 0
    train = ("train", "--counts", counted, "--vocab-size", "262", "--force", "--output", trained)
    for given in ((), rules):
        assert bpetite(*train, *given).returncode == 0
        assert list(Tokenizer.load(trained).special_tokens) == ["<|y|>", "<|x|>"]
        assert Tokenizer.load(trained).dialect.name == "tiktoken"
    refused = bpetite(*train, "--dialect", "bpetite")
    assert (refused.returncode, refused.stdout) == (1, b"")
    assert (
        refused.stderr
        == (
            f"bpetite train: {counted}: counted with the boundaries '<|y|>', '<|x|>', but none is needed; "
            "leave out --dialect and --special-token, or give what counting was given\n"
        ).encode()
    )


def test_rules_that_differ_are_said_in_a_line_with_options_and_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the cat and the hat " * 9)
    many = [f"<|reserved_{number}|>" for number in range(99)]
    for name, *rules in (
        ("a", "--dialect", "cs336", "--special-token", *many),
        ("b", "--pattern", "o200k"),
    ):
        count = ("count", "--input", tmp_path / "a.txt", "--output", tmp_path / name, *rules)
        assert bpetite(*count).returncode == 0
    out = ("--output", tmp_path / "out")
    train = ("train", "--counts", tmp_path / "b", "--vocab-size", "262", *out)
    assert b"/b: counted with the pattern o200k, but cl100k is needed; leave out --pattern" in (
        bpetite(*train, "--pattern", "cl100k").stderr
    )
    merged = bpetite(
        "merge-counts", "--counts", tmp_path / "a", tmp_path / "b", *out
    ).stderr.decode()
    assert "/b: counted with the pattern o200k, but " in merged
    assert "/a with gpt2: they cannot be added up" in merged
    other = bpetite(
        "train", "--counts", tmp_path / "a", "--vocab-size", "500", *out, "--dialect", "bpetite"
    )
    assert b"<|reserved_3|>" not in other.stderr


def test_counts_of_different_dialects_or_of_none_are_added_up_and_trained_on(
    tmp_path: Path,
) -> None:
    ours, theirs = (
        Counts.from_iterator(["the hat"], dialect=name) for name in ("bpetite", "huggingface")
    )
    assert Counts.merge([ours, ours]).dialect == Dialect()
    assert Counts.merge([theirs, theirs]).weighted(2).dialect == Dialect.named("huggingface")
    both = Counts.merge([ours, theirs, ours])
    assert both.dialect is None
    both.save(tmp_path / "both")
    assert Counts.load(tmp_path / "both").dialect is None
    assert Tokenizer.train_from_counts(Counts.load(tmp_path / "both"), 259).dialect == Dialect()
    assert Tokenizer.train_from_counts(theirs, 259).dialect.name == "huggingface"


def test_a_finished_folder_is_said_to_be_finished(model: Path) -> None:
    model.with_name("a.txt").write_text("the cat")
    encode = (
        "encode-corpus",
        model,
        "--input",
        model.with_name("a.txt"),
        "--output",
        model.with_name("ids"),
    )
    assert bpetite(*encode).returncode == 0
    assert b"ids is finished; --force writes it anew" in bpetite(*encode).stderr
    assert bpetite(*encode, "--resume").returncode == 0


def test_a_text_that_names_a_file_is_told_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the cat")
    with pytest.warns(
        UserWarning, match=r"a.txt: the corpus is the name of a file; train_from_files trains"
    ):
        Tokenizer.train(str(tmp_path / "a.txt"), 300)
    with pytest.raises(TypeError, match="train_from_iterator takes several"):
        Tokenizer.train(["a", "b"], 300)  # type: ignore[arg-type]  # what is tried first
    for text in ("a.txt", "a\0.txt", "\ud800"[:0], "a" * 5000):
        Tokenizer.train(text, 300)  # warnings are errors here


def test_a_file_that_exists_says_how_to_replace_it(model: Path) -> None:
    with pytest.raises(
        FileExistsError, match=r"tok.json exists already; overwrite=True replaces it"
    ):
        Tokenizer.load(model).save(model)


def test_ids_may_stand_behind_the_model(model: Path) -> None:
    for ids in (["104", "105"], ["--ids", "104", "105"], ["104", "--ids", "105"]):
        assert bpetite("decode", model, *ids).stdout == b"hi"
    assert bpetite("decode", model, "x").returncode == 2


def test_stdin_is_read_as_the_options_say(model: Path) -> None:
    lines = b'{"text": "hi"}\n{"text": "the"}\n'
    divided = bpetite("encode", model, "--input-format", "jsonl", stdin=lines).stdout
    assert [*map(json.loads, divided.splitlines())] == [
        [104, 105],
        Tokenizer.load(model).encode("the"),
    ]
    assert (
        bpetite("encode", model, "--separator", "|", stdin=b"hi|hi").stdout
        == b"[104,105]\n[104,105]\n"
    )
    assert bpetite("encode", model, stdin=b"hi|").stdout == b"[104,105,124]\n"
