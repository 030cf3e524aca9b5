"""`bpetite convert` and `bpetite compare` as a user meets them: in a process of its own."""

import json
import subprocess
import sys
import urllib.request
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tokenizers
import transformers

from bpetite import Tokenizer
from bpetite.formats.shared import peers
from bpetite.formats.shared.imported import Original
from bpetite.vocabulary import Vocabulary

CORPUS = "the cat sat on the mat, the bat sat on the hat; naïve cafés, 東京都 12345\n" * 3
TEXT = "the cat<|endoftext|> naïve"


def bpetite(*arguments: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "bpetite", *map(str, arguments)], capture_output=True, check=False
    )


def converted(*arguments: object) -> Any:
    done = bpetite("convert", *arguments)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("formats")
    tok = Tokenizer.train_from_iterator([CORPUS], 400, dialect="tiktoken")
    tok.save(folder / "tok.json")
    return folder


def test_a_tokenizer_goes_round_through_every_format_and_comes_back_the_same(folder: Path) -> None:
    tok = Tokenizer.load(folder / "tok.json")
    special = f"<|endoftext|>={tok.special_tokens['<|endoftext|>']}"
    given = ("--pattern", "gpt2", "--special-token", special)
    first = converted(folder / "tok.json", folder / "tokenizer.json", "--check")
    assert (first["from"], first["to"], first["checked_with"]) == (
        "bpetite",
        "huggingface",
        ["tokenizers"],
    )
    second = converted(folder / "tokenizer.json", folder / "tok.tiktoken", "--check")
    assert second["checked_with"] == ["tokenizers", "tiktoken"]
    third = converted(folder / "tok.tiktoken", folder / "gpt2", "--check", *given)
    assert third["to"] == "gpt2"
    fourth = converted(folder / "gpt2", folder / "back.json", "--check")
    assert fourth["to"] == "bpetite"
    assert {
        first["fingerprint"],
        second["fingerprint"],
        third["fingerprint"],
        fourth["fingerprint"],
    } == {tok.fingerprint}
    assert Tokenizer.load(folder / "back.json").encode(TEXT) == tok.encode(TEXT)
    peer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert peer.encode(TEXT).ids == tok.encode(TEXT)


def test_a_folder_with_settings_is_for_transformers(folder: Path, tmp_path: Path) -> None:
    pad = ("--pad-token", "<|endoftext|>")
    assert converted(folder / "tok.json", tmp_path / "model", *pad)["to"] == "huggingface"
    assert converted(folder / "tok.json", tmp_path / "other")["to"] == "gpt2"


@pytest.mark.parametrize("source", ["tok.json", "tokenizer.json", "of transformers/"])
@pytest.mark.parametrize("target", ["new/", "new", "there", "there/", "llama-3.1", "mine.json/"])
def test_a_folder_that_is_asked_for_is_one_that_transformers_and_we_load(
    source: str, target: str, folder: Path, tmp_path: Path
) -> None:
    tok = Tokenizer.load(folder / "tok.json")
    tok.save(tmp_path / "tok.json")
    tok.to_huggingface(tmp_path / "tokenizer.json")
    tok.save_folder(tmp_path / "of transformers")
    (tmp_path / "there").mkdir()
    written = f"{tmp_path}/{target}"
    assert (
        converted(f"{tmp_path}/{source}", written, "--to", "huggingface", "--check")["to"]
        == "huggingface"
    )
    names = ["tokenizer.json", "tokenizer_config.json"]
    assert sorted(path.name for path in Path(written).iterdir()) == names
    assert Tokenizer.load(written).encode(TEXT) == tok.encode(TEXT)
    auto: Any = transformers.AutoTokenizer  # its annotations are incomplete
    assert auto.from_pretrained(written).encode(TEXT, add_special_tokens=False) == tok.encode(TEXT)


@pytest.mark.parametrize("kind", ["bpetite", "tiktoken"])
def test_a_format_of_one_file_is_not_written_to_a_folder(
    kind: str, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "there").mkdir()
    for target in ("new/", "there", "there/"):
        done = bpetite("convert", folder / "tok.json", f"{tmp_path}/{target}", "--to", kind)
        assert (done.returncode, done.stdout) == (1, b"")
        assert (
            f"is a folder, and {kind} is a format of one file: name it, as in "
            in done.stderr.decode()
        )
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
    assert not any((tmp_path / "there").iterdir())


def test_settings_of_a_folder_are_refused_for_a_file(folder: Path, tmp_path: Path) -> None:
    for target in (tmp_path / "tokenizer.json", tmp_path / "tok.json"):
        done = bpetite("convert", folder / "tok.json", target, "--eos-token", "<|endoftext|>")
        assert (done.returncode, done.stdout) == (1, b"")
        assert f"--eos-token is for a folder of huggingface, and {target} is for a file" in str(
            done.stderr
        )
        assert not target.exists()


CHAT_TOKENS = ["<s>", "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|eos|>"]


@pytest.mark.parametrize(
    ("template", "options", "bos", "eos", "notes"),
    [
        (None, [], "<s>", "<|eos|>", ["bos_token is <s>", "eos_token is <|eos|>"]),
        (
            "{{ x }}<|im_end|>",
            [],
            "<s>",
            "<|im_end|>",
            ["bos_token is <s>", "eos_token is <|im_end|>"],
        ),
        ("{{ x }}<|eos|>", [], "<s>", "<|eos|>", ["bos_token is <s>", "eos_token is <|eos|>"]),
        (
            "{{ x + eos_token }}",
            [],
            "<s>",
            "<|im_end|>",
            ["bos_token is <s>", "eos_token is <|im_end|>"],
        ),
        (None, ["--eos-token", "<|endoftext|>"], "<s>", "<|endoftext|>", ["bos_token is <s>"]),
        (
            "<|im_end|>",
            ["--eos-token", "<|eos|>", "--bos-token", "<|im_start|>"],
            "<|im_start|>",
            "<|eos|>",
            [],
        ),
    ],
)
def test_the_tokens_that_begin_and_end_a_text_are_chosen_and_said(
    template: str | None, options: list[str], bos: str, eos: str, notes: list[str], tmp_path: Path
) -> None:
    tok = Tokenizer.train_from_iterator([CORPUS], 300, special_tokens=CHAT_TOKENS)
    tok.save(tmp_path / "tok.json")
    if template is not None:
        (tmp_path / "chat.jinja").write_text(template)
        options = [*options, "--chat-template", str(tmp_path / "chat.jinja")]
    command = ("convert", tmp_path / "tok.json", f"{tmp_path}/hf/", "--to", "huggingface", *options)
    done = bpetite(*command)
    assert done.returncode == 0, done.stderr.decode()
    said = [line for line in done.stderr.decode().splitlines() if "_token is" in line]
    assert [line.partition("note: ")[2].partition(",")[0] for line in said] == notes
    auto: Any = transformers.AutoTokenizer  # its annotations are incomplete
    theirs = auto.from_pretrained(f"{tmp_path}/hf")
    assert (theirs.bos_token, theirs.eos_token) == (bos, eos)
    assert theirs.eos_token_id == tok.special_tokens[eos]
    # What a folder says is kept, and nothing is chosen again.
    again = bpetite("convert", tmp_path / "hf", f"{tmp_path}/copy/", "--to", "huggingface")
    assert b"_token is" not in again.stderr
    assert auto.from_pretrained(f"{tmp_path}/copy").eos_token == eos


PATTERN_LOST = "the file does not hold the pattern; give it when you load the file: gpt2"
SPECIALS_LOST = (
    "the file does not hold the special tokens; give them and their ids when you load the file"
)
SPECIAL_LOST = "the files do not say which tokens are special; name them when you load the files"
END_CHOSEN = "note: eos_token is <|endoftext|>, by its name; --eos-token names another"
BESIDE_LOST = [
    "lost: the template that puts tokens around a text",
    "lost: how texts are truncated",
    "lost: how texts are padded",
]
ADDED_LOST = "lost: that these tokens are added but not special: '<b>', '<c>', '<d>' and 1 more"
DECODING_LOST = [
    "lost: tokens that no text becomes, which are only decoded: 1",
    "lost: that decoding leaves out the space that a text begins with",
]


def told_by_converting(source: Path, target: Path, kind: str) -> list[str]:
    done = bpetite("convert", source, target, "--to", kind)
    assert done.returncode == 0, done.stderr.decode()
    lines = done.stderr.decode().splitlines()
    told = [line.removeprefix(f"{target}: ") for line in lines if line.startswith(f"{target}: ")]
    quiet = bpetite("convert", source, target, "--to", kind, "--quiet", "--force")
    assert (quiet.returncode, quiet.stderr) == (0, b"")
    return told


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("bpetite", []),
        ("huggingface", [END_CHOSEN]),
        ("tiktoken", [PATTERN_LOST, SPECIALS_LOST]),
        ("gpt2", [SPECIAL_LOST]),
    ],
)
def test_what_a_format_does_not_hold_is_told(
    folder: Path, tmp_path: Path, kind: str, told: list[str]
) -> None:
    assert told_by_converting(folder / "tok.json", tmp_path / "out", kind) == told


@pytest.mark.parametrize("kind", ["tiktoken", "gpt2"])
def test_of_special_tokens_nothing_is_told_where_there_are_none(tmp_path: Path, kind: str) -> None:
    tok = Tokenizer.train_from_iterator([CORPUS], 300, special_tokens=[], pattern="gpt2")
    tok.save(tmp_path / "tok.json")
    told = told_by_converting(tmp_path / "tok.json", tmp_path / "out", kind)
    assert told == ([PATTERN_LOST] if kind == "tiktoken" else [])


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("bpetite", BESIDE_LOST),
        ("huggingface", [END_CHOSEN]),
        ("tiktoken", [PATTERN_LOST, SPECIALS_LOST, ADDED_LOST, *BESIDE_LOST]),
        ("gpt2", [SPECIAL_LOST, ADDED_LOST, *BESIDE_LOST]),
    ],
)
def test_added_tokens_and_what_is_around_a_text_are_told_where_they_are_lost(
    folder: Path, tmp_path: Path, kind: str, told: list[str]
) -> None:
    Tokenizer.load(folder / "tok.json").to_huggingface(tmp_path / "plain.json")
    real = tokenizers.Tokenizer.from_file(str(tmp_path / "plain.json"))
    real.add_special_tokens(["<a>"])
    for text in ("<b>", "<c>", "<d>", "<e>"):
        real.add_tokens([tokenizers.AddedToken(text, normalized=False)])
    real.post_processor = tokenizers.processors.TemplateProcessing(
        single="<a> $A", special_tokens=[("<a>", real.token_to_id("<a>"))]
    )
    real.enable_truncation(99)
    real.enable_padding(pad_id=0, pad_token="a")
    real.save(str(tmp_path / "tokenizer.json"))
    assert told_by_converting(tmp_path / "tokenizer.json", tmp_path / "out", kind) == told


@pytest.mark.parametrize(
    ("kind", "told"), [("bpetite", []), ("huggingface", DECODING_LOST), ("gpt2", DECODING_LOST)]
)
def test_what_only_decoding_knows_is_told_where_it_is_lost(
    tmp_path: Path, kind: str, told: list[str]
) -> None:
    ones = {byte: bytes([byte]) for byte in range(256)}
    vocabulary = Vocabulary(ones, [], decode_only={256: b"zz"}, drops_space=True)
    Tokenizer(vocabulary).save(tmp_path / "tok.json")
    assert told_by_converting(tmp_path / "tok.json", tmp_path / "out", kind) == told


@pytest.mark.parametrize("kind", ["tiktoken", "gpt2"])
@pytest.mark.parametrize("flag", ["lstrip", "rstrip", "single_word"])
def test_flags_that_change_ids_are_refused_by_formats_without_them(
    folder: Path, tmp_path: Path, kind: str, flag: str
) -> None:
    Tokenizer.load(folder / "tok.json").to_huggingface(tmp_path / "plain.json")
    real = tokenizers.Tokenizer.from_file(str(tmp_path / "plain.json"))
    real.add_special_tokens([tokenizers.AddedToken("<a>", **{flag: True})])
    real.save(str(tmp_path / "tokenizer.json"))
    done = bpetite("convert", tmp_path / "tokenizer.json", tmp_path / "out", "--to", kind)
    assert (done.returncode, done.stdout) == (1, b"")
    assert f"flags of special tokens ('<a>': {flag})" in done.stderr.decode()
    assert not (tmp_path / "out").exists()


def test_what_is_assumed_goes_to_stderr(folder: Path, tmp_path: Path) -> None:
    Tokenizer.load(folder / "tok.json").to_tiktoken(tmp_path / "t.tiktoken")
    done = bpetite("convert", tmp_path / "t.tiktoken", tmp_path / "t.json", "--pattern", "gpt2")
    said = done.stderr.decode()
    assert "note: there are no special tokens" in said
    assert "give --special-token, or put" in said
    done = bpetite(
        "convert", tmp_path / "t.tiktoken", tmp_path / "u.json", "--pattern", "gpt2", "--quiet"
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_every_command_that_opens_a_tokenizer_opens_every_format(
    folder: Path, tmp_path: Path
) -> None:
    tok = Tokenizer.load(folder / "tok.json")
    special = f"<|endoftext|>={tok.special_tokens['<|endoftext|>']}"
    tok.to_huggingface(tmp_path / "named.json")
    tok.to_tiktoken(tmp_path / "t.tiktoken")
    (tmp_path / "gpt2").mkdir()
    tok.to_gpt2(tmp_path / "gpt2" / "vocab.json", tmp_path / "gpt2" / "merges.txt")
    (tmp_path / "text.txt").write_text(CORPUS, "utf-8")
    for name, options in [
        ("named.json", []),
        ("t.tiktoken", ["--pattern", "gpt2", "--special-token", special]),
        ("gpt2/", []),
    ]:
        done = bpetite("inspect", tmp_path / name, *options, "--json")
        assert (done.returncode, done.stderr) == (0, b"")
        facts = json.loads(done.stdout)
        assert facts["fingerprint"] == tok.fingerprint
        assert any("Unicode" in assumption for assumption in facts["assumptions"])
        shown = " ".join(bpetite("inspect", tmp_path / name, *options).stdout.decode().split())
        assert all(f"note {assumption}" in shown for assumption in facts["assumptions"])
        report = ("report", tmp_path / name, *options, "--input", tmp_path / "text.txt", "--force")
        done = bpetite(*report, "--json", "--output", tmp_path / "report.html")
        assert json.loads(done.stdout)["sources"][-1]["tokens"] == len(tok.encode(CORPUS))
        assert ("note: the files do not hold their pattern" in done.stderr.decode()) == (
            name == "gpt2/"
        )
        assert f'"name": "{name.rstrip("/")}"' in (tmp_path / "report.html").read_text("utf-8")
        quiet = bpetite(*report, "--quiet", "--output", tmp_path / "report.html")
        assert (quiet.returncode, quiet.stderr) == (0, b"")
    assert json.loads(bpetite("inspect", folder / "tok.json", "--json").stdout)["assumptions"] == []


@pytest.mark.parametrize("name", ["model.gguf", "tekken.json", "tokenizer.model"])
def test_a_name_of_a_format_that_is_not_written_is_refused(
    folder: Path, tmp_path: Path, name: str
) -> None:
    done = bpetite("convert", folder / "tok.json", tmp_path / name)
    assert (done.returncode, done.stdout) == (1, b"")
    assert "can be read, but not written" in done.stderr.decode()
    assert list(tmp_path.iterdir()) == []
    assert (
        bpetite("convert", folder / "tok.json", tmp_path / name, "--to", "bpetite").returncode == 0
    )


def test_convert_writes_a_config_to_a_folder(folder: Path, tmp_path: Path) -> None:
    converted(folder / "tok.json", f"{tmp_path}/model/", "--to", "huggingface", "--check")
    assert {path.name for path in (tmp_path / "model").iterdir()} == {
        "tokenizer.json",
        "tokenizer_config.json",
    }
    config = json.loads((tmp_path / "model" / "tokenizer_config.json").read_text())
    assert config["eos_token"] == "<|endoftext|>"


def test_special_tokens_are_given_one_by_one_or_together_everywhere(
    folder: Path, tmp_path: Path
) -> None:
    tok = Tokenizer.train_from_iterator(
        [CORPUS], 400, dialect="tiktoken", special_tokens=["<a>", "<b>"]
    )
    tok.to_tiktoken(tmp_path / "t.tiktoken")
    ids = [f"{text}={token_id}" for text, token_id in tok.special_tokens.items()]
    for given in (
        ("--special-token", *ids),
        ("--special-token", ids[0], "--special-token", ids[1]),
    ):
        shown = bpetite("inspect", tmp_path / "t.tiktoken", "--json", "--pattern", "gpt2", *given)
        assert json.loads(shown.stdout)["special_tokens"] == tok.special_tokens


def test_the_viewer_opens_every_format(folder: Path, tmp_path: Path) -> None:
    tok = Tokenizer.load(folder / "tok.json")
    tok.to_huggingface(tmp_path / "named.json")
    (tmp_path / "gpt2").mkdir()
    tok.to_gpt2(tmp_path / "gpt2" / "vocab.json", tmp_path / "gpt2" / "merges.txt")
    files = [str(tmp_path / "named.json"), str(tmp_path / "gpt2") + "/"]
    command = [sys.executable, "-m", "bpetite", "view", *files, "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        address = process.stdout.readline().decode().strip()
        with urllib.request.urlopen(
            f"{address}ask", b'{"question": "about"}', timeout=60
        ) as answer:
            models = json.load(answer)["models"]
        process.terminate()
    assert [(model["name"], model["fingerprint"]) for model in models] == [
        ("named.json", tok.fingerprint),
        ("gpt2", tok.fingerprint),
    ]


def test_failures_are_a_message_and_exit_code_1(folder: Path, tmp_path: Path) -> None:
    tok = Tokenizer.load(folder / "tok.json")
    tok.to_tiktoken(tmp_path / "t.tiktoken")
    (tmp_path / "gpt2").mkdir()
    tok.to_gpt2(tmp_path / "gpt2" / "vocab.json", tmp_path / "gpt2" / "merges.txt")
    for arguments, message in [
        ((tmp_path / "gpt2", tmp_path / "o.json", "--special-token", "<x>=999"), "'<x>' has id"),
        (
            (folder / "tok.json", tmp_path / "o.json", "--special-token", "<x>"),
            "'<x>' is not a special token",
        ),
        ((folder / "tok.json", tmp_path / "o.json", "--pattern", "o200k"), "not o200k"),
        ((tmp_path / "t.tiktoken", tmp_path / "o.json"), "--pattern"),
        ((tmp_path / "none.json", tmp_path / "o.json"), "No such file"),
        ((folder / "tok.json", tmp_path / "t.tiktoken"), "exists already"),
    ]:
        done = bpetite("convert", *arguments)
        assert (done.returncode, done.stdout) == (1, b"")
        assert message in done.stderr.decode()
        assert not (tmp_path / "o.json").exists()


def test_what_is_given_and_so_in_no_file_is_refused(folder: Path, tmp_path: Path) -> None:
    tok = Tokenizer.load(folder / "tok.json")
    tok.to_tiktoken(tmp_path / "t.tiktoken")
    model, bare = folder / "tok.json", tmp_path / "t.tiktoken"
    given = ("--pattern", "gpt2", "--special-token", "<|endoftext|>")
    for arguments in [
        ("inspect", model),
        ("report", model, "--input", model, "--output", tmp_path / "r.html"),
        ("view", model, "--no-browser"),
        ("compare", model, model, "--text", TEXT),
    ]:
        for wrong in [("--pattern", "o200k"), ("--special-token", "<x>")]:
            done = bpetite(*arguments, *wrong)
            assert (done.returncode, done.stdout) == (1, b"")
            assert f"{model}: " in done.stderr.decode()
            assert wrong[1] in done.stderr.decode()
    assert bpetite("inspect", model, *given).returncode == 0
    assert bpetite("compare", model, bare, *given, "--text", TEXT).returncode == 0


def test_compare_shows_two_tokenizers_side_by_side(folder: Path, tmp_path: Path) -> None:
    tok = Tokenizer.load(folder / "tok.json")
    tok.truncate(270).to_huggingface(tmp_path / "small.json")
    done = bpetite("compare", folder / "tok.json", tmp_path / "small.json", "--text", TEXT)
    shown = done.stdout.decode()
    assert done.returncode == 0
    assert "the ids differ" in shown
    assert f"{len(tok.encode(TEXT, special='text'))} tokens" in shown
    assert "|" in shown
    done = bpetite("compare", folder / "tok.json", folder / "tok.json", "--text", TEXT, "--json")
    compared = json.loads(done.stdout)
    assert compared["same_ids"] is True
    assert (
        compared["rows"][0]["ids"] == compared["rows"][1]["ids"] == tok.encode(TEXT, special="text")
    )
    done = bpetite("compare", folder / "tok.json", folder / "tok.json", "--text", CORPUS * 30)
    assert "(the first 500 tokens of each)" in done.stdout.decode()
    done = bpetite("compare", folder / "tok.json", folder / "tok.json", "--text", "", "--json")
    assert json.loads(done.stdout)["rows"][0]["bytes_per_token"] == 0


@pytest.mark.parametrize("source", ["a", "english.txt", "a-corpus-with-a-long-name.txt", "x" * 70])
def test_compare_fits_80_columns(
    source: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    for name in ("llama-3.1-8b", "qwen-2.5"):
        Path(name).mkdir(exist_ok=True)
        Tokenizer.load("tok.json").to_huggingface(f"{name}/tokenizer.json", overwrite=True)
    Path(source).write_text(CORPUS * 300, "utf-8")
    done = bpetite(
        "compare", "llama-3.1-8b/tokenizer.json", "qwen-2.5/tokenizer.json", "--input", source
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.decode().splitlines()
    assert max(map(len, lines)) <= 80
    for words in (source, "llama-3.1-8b  ", "qwen-2.5  ", "1.00x"):
        assert any(words in line for line in lines), words


def test_compare_counts_the_tokens_of_many_texts(folder: Path, tmp_path: Path) -> None:
    tok = Tokenizer.load(folder / "tok.json")
    small = tok.truncate(270)
    small.to_huggingface(tmp_path / "small.json")
    third = tmp_path / "third.json"
    tok.truncate(260).save(third)
    for name, text in {"de": "Der Hund und die Katze", "py": "def f(x): return x"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(text * 20)
        (tmp_path / name / "b.txt").write_text(text)
    command = ("compare", folder / "tok.json", tmp_path / "small.json", third, "--quiet")
    texts = ("--input", tmp_path / "de", tmp_path / "py")
    rows = json.loads(bpetite(*command, *texts, "--json").stdout)["rows"]
    assert len(rows) == 3 * 3
    german = "Der Hund und die Katze"
    assert [row["tokens"] for row in rows[:3]] == [
        one.count(german * 20) + one.count(german) for one in (tok, small, Tokenizer.load(third))
    ]
    assert rows[1]["tokens_to_first"] == rows[1]["tokens"] / rows[0]["tokens"]
    table = bpetite(*command, *texts).stdout.decode().splitlines()
    assert len(table) == 2 + 3 * (
        1 + 3
    )  # The names of the sources are too long to stand in the rows.
    assert table[2] == str(tmp_path / "de")
    per = [
        f"{rows[2][name]:.3f}"
        for name in ("bytes_per_token", "characters_per_token", "tokens_per_word")
    ]
    numbers = [f"{rows[2]['tokens']:,}", *per, f"{rows[2]['tokens_to_first']:.2f}x"]
    assert table[5].split() == ["third.json", *numbers]
    assert all(len(line) <= 80 for line in table if not line.startswith("/"))


def test_a_file_is_checked_with_its_own_library(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tok = Tokenizer.load(folder / "tok.json")
    tok.to_huggingface(tmp_path / "tokenizer.json")
    (tmp_path / "more.txt").write_text("the lowest of the low")
    for inputs in ((), (tmp_path / "more.txt",)):
        facts = json.loads(bpetite("check", tmp_path / "tokenizer.json", *inputs).stdout)
        assert facts["verdict"] == f"same ids as tokenizers {tokenizers.__version__}"
    facts = json.loads(bpetite("check", folder / "tok.json").stdout)
    assert (facts["compared_with"], facts["verdict"][:5]) == (None, "read;")
    other = "bpetite.formats.shared.peers.peer_of"
    monkeypatch.setattr(
        other, lambda *_: peers.Peer("tokenizers", lambda text: tok.encode(text)[:9])
    )
    from_file = Tokenizer.load(tmp_path / "tokenizer.json")
    with pytest.raises(
        ValueError, match=r"t.json, as tokenizers reads it, would not be the same tokenizer"
    ):
        peers.compared_with(from_file._original, tok.vocabulary, tok.encode, "t.json")


HEADERS = [
    b"",
    b"#version: 0.2\n",
    b"#version: 0.2 - Trained by `huggingface/tokenizers`\n",
    b"#version: 0.2 - Trained by `huggingface/tokenizers`\r\n",
]


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize(
    "beside", [{}, {"add_prefix_space": True}, {"mask_token": {"content": "<m>", "lstrip": True}}]
)
def test_two_files_are_checked_whatever_their_header_and_the_files_beside_them_say(
    header: bytes, beside: dict[str, Any], tmp_path: Path
) -> None:
    trained = tokenizers.ByteLevelBPETokenizer()
    trained.train_from_iterator(
        [TEXT], 300, special_tokens=["<m>", "<|endoftext|>"], show_progress=False
    )
    trained.save_model(str(tmp_path))
    merges = (tmp_path / "merges.txt").read_bytes().partition(b"\n")[2]
    if header.endswith(b"\r\n"):
        merges = merges.replace(b"\n", b"\r\n")
    (tmp_path / "merges.txt").write_bytes(header + merges)
    settings = {"tokenizer_class": "GPT2Tokenizer", **beside}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    facts = json.loads(bpetite("check", tmp_path).stdout)
    assert facts["verdict"] == f"same ids as tokenizers {tokenizers.__version__}"
    assert converted(tmp_path, tmp_path / "tok.json", "--check")["checked_with"] == ["tokenizers"]


@pytest.mark.parametrize("padding", ["none", "to 40 ids", "on the left", "to a multiple"])
@pytest.mark.parametrize("longest", [None, 3])
def test_a_verdict_is_about_the_ids_of_texts_whatever_else_the_file_does_to_them(
    padding: str, longest: int | None, folder: Path, tmp_path: Path
) -> None:
    Tokenizer.load(folder / "tok.json").to_huggingface(tmp_path / "plain.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "plain.json"))
    if padding == "to 40 ids":
        theirs.enable_padding(length=40)
    elif padding != "none":
        left = "left" if padding == "on the left" else "right"
        theirs.enable_padding(direction=left, pad_to_multiple_of=8)
    if longest is not None:
        theirs.enable_truncation(longest)
    end = "<|endoftext|>"
    template = tokenizers.processors.TemplateProcessing(
        f"{end} $A {end}", None, [(end, theirs.token_to_id(end))]
    )
    theirs.post_processor = template
    path = tmp_path / "tokenizer.json"
    theirs.save(str(path))
    facts = json.loads(bpetite("check", path).stdout)
    assert facts["verdict"] == f"same ids as tokenizers {tokenizers.__version__}"
    checked = converted(path, tmp_path / "copy.json", "--to", "huggingface", "--check")
    assert checked["checked_with"] == ["tokenizers", "tokenizers"]
    document = json.loads(path.read_bytes())
    ids = document["model"]["vocab"]
    ids["a"], ids["b"] = ids["b"], ids["a"]
    changed = Original("huggingface", {"tokenizer.json": json.dumps(document).encode()})
    tok = Tokenizer.load(path)
    encode = partial(tok.encode, add_special_tokens=False)
    with pytest.raises(ValueError, match="would not be the same tokenizer"):
        peers.compared_with(changed, tok.vocabulary, encode, "it")


def test_a_file_that_its_own_library_cannot_read_is_named(folder: Path, tmp_path: Path) -> None:
    tok = Tokenizer.load(folder / "tok.json")
    broken = Original("huggingface", {"tokenizer.json": b"{}"})
    with pytest.raises(ValueError, match=r"a\.json: tokenizers [0-9.]+ cannot read it: "):
        peers.compared_with(broken, tok.vocabulary, tok.encode, "a.json")
