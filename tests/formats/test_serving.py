"""What servers do with tokenizers, and how they get accelerated ones, without vLLM and SGLang."""

import contextlib
import copy
import importlib
import pickle
import queue
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from types import ModuleType
from typing import Any

import pytest
import tokenizers
import transformers

from bpetite import accelerate, serving
from bpetite.interfaces.huggingface import HuggingFaceTokenizer
from test_huggingface_interface import a_wordpiece
from test_transformers import BEHAVIOURS, CHAT, TEXTS, file_of, wrapped

PROJECT = Path(__file__).parents[2]
AUTO: Any = transformers.AutoTokenizer
BASE: Any = transformers.PreTrainedTokenizerBase


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    wrapped("bytes", tokenizers.Tokenizer.from_str(file_of("bytes"))).save_pretrained(tmp_path)
    return tmp_path


@pytest.fixture
def _patched() -> Iterator[None]:
    serving.patch_transformers()
    yield
    serving.unpatch_transformers()


def is_fast(tok: Any) -> bool:
    return type(tok._tokenizer) is HuggingFaceTokenizer


# The sequences of servers
# ------------------------------------------------------------------------------------------


def cached(tok: Any) -> Any:
    """A tokenizer of a class made at run time, which keeps what is costly to ask."""
    kept = (tok.all_special_ids, tok.all_special_tokens, tok.get_vocab(), len(tok))

    class Cached(type(tok)):  # type: ignore[misc]
        all_special_ids = property(lambda _: kept[0])
        all_special_tokens = property(lambda _: kept[1])
        max_token_id = property(lambda _: max(kept[2].values()))

        def get_vocab(self) -> Any:
            return kept[2]

        def __len__(self) -> int:
            return kept[3]

        def __reduce__(self) -> Any:
            return cached, (tok,)

    copied = copy.copy(tok)
    copied.__class__ = Cached
    return copied


class Pool:
    """Deep copies of a tokenizer, of which each call borrows one."""

    def __init__(self, tok: Any, copies: int) -> None:
        self.tok = tok
        self.free: queue.Queue[Any] = queue.Queue()
        for _ in range(copies):
            self.free.put(copy.deepcopy(tok))

    @contextlib.contextmanager
    def borrowed(self) -> Iterator[Any]:
        try:
            tok = self.free.get_nowait()
        except queue.Empty:
            tok = copy.deepcopy(self.tok)
        try:
            yield tok
        finally:
            self.free.put(tok)


def asked(tok: Any) -> list[Any]:
    """What a server asks for a request."""
    rows = [tok.encode(text, add_special_tokens=False) for text in TEXTS]
    return [
        rows,
        dict(tok(TEXTS[1], truncation=True, max_length=6)),
        dict(tok(TEXTS, TEXTS, truncation=True, max_length=30, padding=True)),
        tok.apply_chat_template(CHAT, tokenize=True, add_generation_prompt=True),
        tok.batch_decode(rows, skip_special_tokens=True, spaces_between_special_tokens=False),
        tok.convert_tokens_to_string(tok.convert_ids_to_tokens(rows[1])),
        (tok.all_special_ids, tok.all_special_tokens, len(tok), tok.vocab_size),
        (tok.bos_token_id, tok.eos_token_id, tok.pad_token_id, tok.is_fast, tok.get_vocab()),
        (tok.num_special_tokens_to_add(), tok.get_added_vocab(), str(tok.added_tokens_decoder)),
    ]


@pytest.mark.parametrize("kind", ["bytes", "Llama 2"])
@pytest.mark.parametrize("is_late", [False, True])
def test_a_class_made_at_run_time_and_a_pool_of_copies_give_the_same(
    kind: str, is_late: bool
) -> None:
    real = wrapped(kind, tokenizers.Tokenizer.from_str(file_of(kind)))
    expected = asked(cached(real))
    ours = accelerate(cached(real)) if is_late else cached(accelerate(real))
    assert type(ours).__name__ == "Cached"
    for tok in (ours, copy.copy(ours), copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert is_fast(tok)
        assert asked(tok) == expected
    pool = Pool(ours, 3)
    threads = 16
    barrier = Barrier(threads)

    def request(_: int) -> Any:
        barrier.wait()
        with pool.borrowed() as tok:
            assert is_fast(tok)
            return asked(tok)

    with ThreadPoolExecutor(threads) as workers:
        assert all(answer == expected for answer in workers.map(request, range(threads)))
    assert asked(ours) == expected


# patch_transformers
# ------------------------------------------------------------------------------------------


def test_transformers_loads_accelerated_tokenizers_until_it_is_undone(folder: Path) -> None:
    method = vars(BASE)["from_pretrained"]
    plain = AUTO.from_pretrained(folder)
    serving.unpatch_transformers()
    assert vars(BASE)["from_pretrained"] is method
    for _ in range(2):
        serving.patch_transformers()
        serving.patch_transformers()
        for load in (AUTO, type(plain), transformers.PreTrainedTokenizerFast):
            tok = load.from_pretrained(folder)
            assert is_fast(tok)
            assert BEHAVIOURS["everything"](tok) == BEHAVIOURS["everything"](plain)
            assert (tok.name_or_path, tok.chat_template) == (
                plain.name_or_path,
                plain.chat_template,
            )
        serving.unpatch_transformers()
        serving.unpatch_transformers()
        assert vars(BASE)["from_pretrained"] is method
        assert not is_fast(AUTO.from_pretrained(folder))
    assert is_fast(tok)


def test_the_name_of_decode_streams_is_taken_meanwhile(folder: Path) -> None:
    decoders: Any = tokenizers.decoders
    real_class = decoders.DecodeStream
    ids = accelerate(AUTO.from_pretrained(folder)).encode("a b é the")
    serving.patch_transformers()
    try:
        assert decoders.DecodeStream is not real_class
        stream = decoders.DecodeStream(skip_special_tokens=True)
        tok = AUTO.from_pretrained(folder)._tokenizer
        assert "".join(stream.step(tok, token_id) or "" for token_id in ids) == "a b é the"
    finally:
        serving.unpatch_transformers()
    assert decoders.DecodeStream is real_class


def test_a_patch_of_another_library_is_kept(folder: Path) -> None:
    method = vars(BASE)["from_pretrained"]
    serving.patch_transformers()
    beneath = BASE.from_pretrained.__func__
    calls = []

    def theirs(cls: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append(cls)
        return beneath(cls, *args, **kwargs)

    BASE.from_pretrained = classmethod(theirs)
    try:
        for is_patched in (True, False, True, False):
            (serving.patch_transformers if is_patched else serving.unpatch_transformers)()
            assert BASE.from_pretrained.__func__ is theirs
            assert is_fast(AUTO.from_pretrained(folder)) == is_patched
        assert len(calls) == 4
    finally:
        BASE.from_pretrained = serving._ours
        serving.patch_transformers()
        serving.unpatch_transformers()
    assert vars(BASE)["from_pretrained"] is method


@pytest.mark.usefixtures("_patched")
def test_what_cannot_be_accelerated_is_loaded_as_before_with_one_warning(tmp_path: Path) -> None:
    load: Any = transformers.PreTrainedTokenizerFast
    load(tokenizer_object=a_wordpiece(), unk_token="a").save_pretrained(tmp_path)
    with pytest.warns(UserWarning, match="not accelerated: .*only BPE can be read") as warned:
        tok = AUTO.from_pretrained(tmp_path)
    assert len(warned) == 1
    assert type(tok._tokenizer) is tokenizers.Tokenizer
    with pytest.raises((OSError, ValueError), match="no-such-folder"):
        AUTO.from_pretrained(tmp_path / "no-such-folder", local_files_only=True)


def test_threads_may_patch_and_load_at_once(folder: Path) -> None:
    method = vars(BASE)["from_pretrained"]
    threads = 16
    barrier = Barrier(threads)
    expected = BEHAVIOURS["a call"](AUTO.from_pretrained(folder))

    def work(number: int) -> None:
        barrier.wait()
        for turn in range(4):
            (serving.patch_transformers if (number + turn) % 2 else serving.unpatch_transformers)()
            assert BEHAVIOURS["a call"](AUTO.from_pretrained(folder)) == expected

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
    serving.unpatch_transformers()
    assert vars(BASE)["from_pretrained"] is method


# Entry points
# ------------------------------------------------------------------------------------------


def entry_points() -> dict[str, Callable[[], None]]:
    text = (PROJECT / "pyproject.toml").read_text("utf-8")
    functions = {}
    for group, entries in tomllib.loads(text)["project"]["entry-points"].items():
        module, name = entries["bpetite"].split(":")
        functions[group] = getattr(importlib.import_module(module), name)
    return functions


UNCHANGED = """
import json, sys, tokenizers, tokenizers.decoders, transformers
def names():
    return [
        tokenizers.Tokenizer, tokenizers.decoders.DecodeStream,
        vars(transformers.PreTrainedTokenizerBase)["from_pretrained"],
        vars(transformers.AutoTokenizer)["from_pretrained"],
        vars(transformers.PreTrainedTokenizerFast).get("from_pretrained"),
    ]
before = names()
import bpetite, bpetite.serving
bpetite.accelerate
bpetite.serving.register_in_vllm()
bpetite.serving.patch_for_sglang()
assert names() == before
assert not {"vllm", "sglang"} & sys.modules.keys()
loaded = transformers.AutoTokenizer.from_pretrained(sys.argv[1])
assert type(loaded._tokenizer) is tokenizers.Tokenizer
bpetite.serving.patch_transformers()
assert names() != before
bpetite.serving.unpatch_transformers()
assert names() == before
"""


@pytest.mark.processes
def test_installing_and_importing_bpetite_changes_nothing(folder: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", UNCHANGED, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_entry_points_do_nothing_without_the_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SGLANG_PLUGINS", raising=False)
    method = vars(BASE)["from_pretrained"]
    functions = entry_points()
    assert functions.keys() == {"vllm.general_plugins", "sglang.srt.plugins"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for function in functions.values():
            function()
    assert vars(BASE)["from_pretrained"] is method


@pytest.mark.parametrize(
    ("named", "is_patched"),
    [(None, False), ("", False), ("other", False), ("bpetite2,x", False), ("x, bpetite ,y", True)],
)
def test_sglang_must_name_it(
    named: str | None, is_patched: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SGLANG_PLUGINS", raising=False)
    if named is not None:
        monkeypatch.setenv("SGLANG_PLUGINS", named)
    entry_points()["sglang.srt.plugins"]()
    try:
        assert is_fast(AUTO.from_pretrained(folder)) == is_patched
    finally:
        serving.unpatch_transformers()


class Registry:
    """A registry like vLLM's: names of classes by the name of a mode."""

    def __init__(self, modes: dict[str, tuple[str, str]]) -> None:
        self.modes = modes

    def register(self, mode: str, module: str, class_name: str) -> None:
        self.modes[mode] = (module, class_name)

    def load_tokenizer(self, mode: str, *args: Any, **kwargs: Any) -> Any:
        module, class_name = self.modes[mode]
        loaded = getattr(importlib.import_module(module), class_name)
        return loaded.from_pretrained(*args, **kwargs)


class OlderRegistry(Registry):
    """The same with the name of an older release."""

    load_tokenizer = property()
    get_tokenizer = Registry.load_tokenizer


class Hf:
    """What vLLM's mode `hf` loads."""

    @classmethod
    def from_pretrained(cls, path: Any, *args: Any, download_dir: Any = None, **kwargs: Any) -> Any:
        return cached(AUTO.from_pretrained(path, *args, cache_dir=download_dir, **kwargs))


@pytest.mark.parametrize("package", serving._VLLM_PACKAGES)
@pytest.mark.parametrize("kind", [Registry, OlderRegistry])
@pytest.mark.parametrize("has_renderers", [False, True])
@pytest.mark.parametrize("has_loader", [False, True])
def test_vllm_knows_it_as_a_mode(
    package: str,
    kind: type[Registry],
    has_renderers: bool,
    has_loader: bool,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    modes = {"hf": (__name__, "Hf")}
    own = Registry(modes)
    loaded_as = []

    def get_tokenizer(*args: Any, tokenizer_mode: str, **kwargs: Any) -> Any:
        loaded_as.append(tokenizer_mode)
        return own.load_tokenizer(tokenizer_mode, *args, **kwargs)

    modules: dict[str, dict[str, Any]]
    modules = {f"{package}.tokenizers.registry": {"TokenizerRegistry": kind(modes)}}
    if has_loader:
        modules[f"{package}.tokenizers.registry"]["get_tokenizer"] = get_tokenizer
    renderers: dict[str, tuple[str, str]] = {}
    if has_renderers:
        name = f"{package}.renderers.registry"
        registry = type("Renderers", (Registry,), {"__module__": name})(renderers)
        modules[name] = {"RENDERER_REGISTRY": registry}
    for name, values in modules.items():
        parts = name.split(".")
        for length in range(1, len(parts) + 1):
            module = ModuleType(".".join(parts[:length]))
            module.__path__ = []
            monkeypatch.setitem(sys.modules, module.__name__, module)
        vars(module).update(values)
    method = vars(BASE)["from_pretrained"]
    entry_points()["vllm.general_plugins"]()
    assert modes.keys() == {"hf", "bpetite"}
    assert renderers == (
        {"bpetite": (f"{package}.renderers.hf", "HfRenderer")} if has_renderers else {}
    )
    tok = own.load_tokenizer("bpetite", folder, download_dir=None, truncation_side="left")
    plain = own.load_tokenizer("hf", folder, download_dir=None, truncation_side="left")
    assert loaded_as == (["hf"] if has_loader else [])
    assert (is_fast(tok), is_fast(plain)) == (True, False)
    assert (type(tok).__name__, tok.truncation_side) == ("Cached", "left")
    assert asked(tok) == asked(plain)
    assert vars(BASE)["from_pretrained"] is method
