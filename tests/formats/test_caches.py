"""Names of models and encodings: they mean what other libraries have downloaded, and errors tell how."""

import hashlib
import http.server
import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiktoken
import tiktoken.load
import tiktoken.registry

from bpetite import Tokenizer
from bpetite.formats import tiktoken as ranks_files
from bpetite.formats.shared.caches import hub_cache, tiktoken_cache
from bpetite.formats.shared.published import PUBLISHED

COMMIT = "0123456789abcdef0123456789abcdef01234567"
VARIABLES = (
    *("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME"),
    *("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"),
)


@pytest.fixture(autouse=True)
def no_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("model") / "tokenizer.json"
    Tokenizer.train_from_iterator(
        ["the cat and the hat"] * 3, 280, dialect="huggingface"
    ).to_huggingface(path)
    return path.read_bytes()


def put(cache: Path, name: str, files: dict[str, bytes]) -> Path:
    """Write files as `huggingface_hub` keeps them; return their folder."""
    model = cache / f"models--{name.replace('/', '--')}"
    snapshot = model / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text(COMMIT)
    for file, file_content in files.items():
        (snapshot / file).write_bytes(file_content)
    return snapshot


ENVIRONMENTS: list[dict[str, str]] = [
    {},
    {"HF_HOME": "a"},
    {"HF_HOME": "~/a"},
    {"HF_HOME": "a", "HUGGINGFACE_HUB_CACHE": "b"},
    {"HF_HOME": "a", "HUGGINGFACE_HUB_CACHE": "b", "HF_HUB_CACHE": "$HOME/c"},
    {"XDG_CACHE_HOME": "x"},
]


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_the_hubs_cache_is_where_its_own_library_has_it(
    environment: dict[str, str], content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    code = "from huggingface_hub import constants; print(constants.HF_HUB_CACHE)"
    theirs = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert hub_cache() == theirs.stdout.strip()
    snapshot = put(Path(hub_cache()), "org/model-1.5", {"tokenizer.json": content})
    loaded = Tokenizer.load("org/model-1.5")
    assert loaded == Tokenizer.load(snapshot)
    assert f"it is read from the cache of the Hugging Face Hub, {snapshot}" in loaded.assumptions


def test_a_local_path_wins_over_a_name(content: bytes, tmp_path: Path) -> None:
    put(Path(hub_cache()), "org/model", {"tokenizer.json": content})
    local = Tokenizer.train("other", 257)
    Path("org").mkdir()
    assert Tokenizer.load("org/model") != local
    local.save("org/model")
    assert Tokenizer.load("org/model") == local
    local.save("cl100k_base")
    assert Tokenizer.load("cl100k_base") == local


@pytest.mark.parametrize("ref", ["", "..", "../../x", "main", COMMIT[::-1]])
def test_what_main_is_must_be_a_commit_that_is_there(ref: str, content: bytes) -> None:
    snapshot = put(Path(hub_cache()), "org/model", {"tokenizer.json": content})
    (snapshot.parent.parent / "refs" / "main").write_text(ref)
    with pytest.raises(FileNotFoundError, match=r"the cache of the Hugging Face Hub, .* lacks it"):
        Tokenizer.load("org/model")


@pytest.mark.parametrize(
    "name", ["../model", "org/../model", "a/b/c", "org/", "/org", "org//x", "..", "-/.."]
)
def test_no_name_leads_out_of_the_cache(name: str, content: bytes) -> None:
    put(Path(hub_cache()), "org/model", {"tokenizer.json": content})
    with pytest.raises(FileNotFoundError):
        Tokenizer.load(name)


def test_a_name_is_loaded_on_the_command_line(content: bytes, tmp_path: Path) -> None:
    put(Path(hub_cache()), "org/model", {"tokenizer.json": content, "tokenizer_config.json": b"{}"})
    command = [sys.executable, "-m", "bpetite"]
    encode = [*command, "encode", "--model", "org/model", "--text", "the cat"]
    encoded = subprocess.run(encode, capture_output=True, text=True, check=False)
    assert json.loads(encoded.stdout) == Tokenizer.load("org/model").encode("the cat")
    assert "org/model: note: it is read from the cache of the Hugging Face Hub, " in encoded.stderr
    converted = subprocess.run(
        [*command, "convert", "org/model", "tok.json"], capture_output=True, check=False
    )
    assert (converted.returncode, Tokenizer.load("tok.json")) == (0, Tokenizer.load("org/model"))
    refused = subprocess.run(
        [*command, "encode", "--model", "org/other", "--text", "a"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "`hf download org/other tokenizer.json`" in refused.stderr


@pytest.fixture
def hub(content: bytes) -> Iterator[str]:
    """A Hub with one model; return its address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            is_there = self.path == "/org/new/resolve/main/tokenizer.json"
            self.send_response(200 if is_there else 404)
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("ETag", hashlib.sha1(content).hexdigest())
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()

        def do_GET(self) -> None:
            self.do_HEAD()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_the_advice_for_a_model_leads_to_success(hub: str, content: bytes, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        Tokenizer.load("org/new")
    [command] = re.findall("`(.*?)`", str(missing.value))
    words = shlex.split(command)
    assert words[0] == "hf"
    program = [sys.executable, "-c", "from huggingface_hub.cli.hf import main; main()"]
    environment = {**os.environ, "HF_ENDPOINT": hub, "HF_HUB_DISABLE_XET": "1"}
    done = subprocess.run(
        [*program, *words[1:]], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    (tmp_path / "tokenizer.json").write_bytes(content)
    assert Tokenizer.load("org/new") == Tokenizer.load(tmp_path / "tokenizer.json")


def publish(ranks: bytes, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ranks be those that OpenAI publishes for an encoding."""
    [known] = [one for one in PUBLISHED.values() if one.name == name]
    monkeypatch.setattr(ranks_files, "PUBLISHED", {hashlib.sha256(ranks).hexdigest(): known})


@pytest.fixture
def ranks(tmp_path: Path) -> bytes:
    tok = Tokenizer.train_from_iterator(["the cat"] * 9, 259, special_tokens=[], dialect="tiktoken")
    tok.to_tiktoken(tmp_path / "ranks.tiktoken")
    return (tmp_path / "ranks.tiktoken").read_bytes()


@pytest.mark.parametrize(
    "name", ["cl100k_base", "gpt-4", "o200k_base", "o200k_harmony", "p50k_edit"]
)
@pytest.mark.parametrize("variable", ["TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR", None])
def test_the_advice_for_an_encoding_leads_to_success(
    name: str, variable: str | None, ranks: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if variable is None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    else:
        monkeypatch.setenv(variable, str(tmp_path / "cache"))
    with pytest.raises(
        FileNotFoundError, match="an encoding of tiktoken that is not in its cache"
    ) as missing:
        Tokenizer.load(name)
    [command] = re.findall("`(.*?)`", str(missing.value))
    python, option, code = shlex.split(command)
    assert (python, option) == ("python", "-c")
    monkeypatch.setattr(tiktoken.load, "read_file", lambda url: ranks)
    monkeypatch.setattr(tiktoken.load, "check_hash", lambda data, expected: True)
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})
    monkeypatch.setattr(
        tiktoken.Encoding, "__init__", lambda self, **_: None
    )  # ours is too small for it
    exec(code, {})  # what the command does
    encoding = re.search(r"get_encoding\('(.*)'\)", code)
    assert encoding is not None
    of_file = {"p50k_edit": "p50k_base", "o200k_harmony": "o200k_base"}.get(
        encoding[1], encoding[1]
    )
    publish(ranks, of_file, monkeypatch)
    loaded = Tokenizer.load(name)
    assert loaded.encode("the cat") == Tokenizer.load("ranks.tiktoken").encode("the cat")
    theirs = (tiktoken.registry.ENCODING_CONSTRUCTORS or {})[encoding[1]]()["special_tokens"]
    assert set(loaded.special_tokens) == set(theirs) - {
        "<|reserved_200018|>"
    }  # a second name of one id
    told = [
        said for said in loaded.assumptions if said.startswith("it is read from tiktoken's cache, ")
    ]
    assert len(told) == 1
    assert tiktoken_cache() in told[0]


def test_a_broken_file_in_tiktokens_cache_is_refused_by_its_path(
    ranks: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    url = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"
    path = tmp_path / hashlib.sha1(url.encode()).hexdigest()
    path.write_bytes(ranks)
    with pytest.raises(
        ValueError, match=f"{path.name}: it is not the published file of cl100k_base"
    ):
        Tokenizer.load("cl100k_base")
