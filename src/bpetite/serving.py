"""Accelerated tokenizers in servers: vLLM, SGLang, and all else that loads them with transformers.

Installing bpetite changes none of them. vLLM uses it after `--tokenizer-mode bpetite`, SGLang if the
environment variable `SGLANG_PLUGINS` names it, and everything else after `patch_transformers()`.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import wraps
from importlib import import_module
from threading import Lock
from typing import Any

from bpetite.interfaces.huggingface import accelerate
from bpetite.interfaces.streams import give_back_decode_stream, take_decode_stream

__all__ = ["patch_transformers", "unpatch_transformers"]

_MODE = "bpetite"
"""The name for vLLM's `--tokenizer-mode` and SGLang's `SGLANG_PLUGINS`."""

_METHOD = "from_pretrained"
"""The method of transformers that is replaced: `AutoTokenizer` and all fast tokenizers call it."""

_VLLM_PACKAGES = ("vllm", "vllm.frontend.processing")
"""Where releases of vLLM have their packages `tokenizers` and `renderers`."""

_lock = Lock()
"""Held while transformers is patched."""
_theirs: Any = None
"""The method of transformers while ours is in its place."""
_ours: Any = None
_is_active = False


def patch_transformers() -> None:
    """Make transformers return accelerated tokenizers from now on, as `accelerate` does.

    This concerns `AutoTokenizer.from_pretrained` and that of the tokenizers' own classes, in this
    process. A tokenizer that cannot be accelerated is returned as it was, with a warning that says
    why. `tokenizers.decoders.DecodeStream` is replaced by a class that also takes accelerated
    tokenizers.

    A second call changes nothing. Call it before other code loads tokenizers.

    >>> import transformers
    >>> patch_transformers()
    >>> unpatch_transformers()  # Tokenizers that were loaded meanwhile remain accelerated.
    """
    global _theirs, _ours, _is_active
    from transformers import PreTrainedTokenizerBase

    with _lock:
        if _ours is None:
            _theirs = vars(PreTrainedTokenizerBase)[_METHOD]
            _ours = _accelerating(_theirs)
            setattr(PreTrainedTokenizerBase, _METHOD, _ours)
        _is_active = True
        take_decode_stream()


def unpatch_transformers() -> None:
    """Undo `patch_transformers`; without it, nothing is changed.

    >>> unpatch_transformers()
    """
    global _theirs, _ours, _is_active
    with _lock:
        if not _is_active:
            return
        from transformers import PreTrainedTokenizerBase

        _is_active = False
        # Another library may have replaced our method by one that calls it, which then stays.
        if vars(PreTrainedTokenizerBase)[_METHOD] is _ours:
            setattr(PreTrainedTokenizerBase, _METHOD, _theirs)
            _theirs = _ours = None
        give_back_decode_stream()


def _accelerating(theirs: Any) -> Any:
    """Return transformers' class method with accelerated tokenizers as its results."""
    load = theirs.__func__

    @wraps(load)
    def from_pretrained(cls: Any, *args: Any, **kwargs: Any) -> Any:
        loaded = load(cls, *args, **kwargs)
        return accelerate(loaded) if _is_active else loaded

    return classmethod(from_pretrained)


# vLLM
# ------------------------------------------------------------------------------------------


def register_in_vllm() -> None:
    """Make vLLM know `--tokenizer-mode bpetite`, without a change to its other modes.

    vLLM calls it in each of its processes, as the entry point `vllm.general_plugins`.

    >>> register_in_vllm()  # Without vLLM, it does nothing.
    """
    tokenizers = _of_vllm("tokenizers", "TokenizerRegistry")
    if tokenizers is None:
        return
    tokenizers.register(_MODE, __name__, VllmTokenizer.__name__)
    # What renders chats is chosen by the same name; older releases have no such choice.
    renderers = _of_vllm("renderers", "RENDERER_REGISTRY")
    if renderers is not None:
        package = type(renderers).__module__.removesuffix(".registry")
        renderers.register(_MODE, f"{package}.hf", "HfRenderer")


def _of_vllm(kind: str, name: str) -> Any:
    """Return what vLLM's registry of a kind has; None if there is none where releases have it."""
    for package in _VLLM_PACKAGES:
        with suppress(ImportError, AttributeError):
            return getattr(import_module(f"{package}.{kind}.registry"), name)
    return None


class VllmTokenizer:
    """What vLLM loads for `--tokenizer-mode bpetite`."""

    @classmethod
    def from_pretrained(cls, *args: Any, **kwargs: Any) -> Any:
        """Load a tokenizer as vLLM's mode `hf` does, and accelerate it."""
        with _lock:
            take_decode_stream()
        load = _of_vllm("tokenizers", "get_tokenizer")
        if load is not None:
            # It does more for this mode than its registry, such as to choose among a model's files.
            return accelerate(load(*args, tokenizer_mode="hf", **kwargs))
        registry = _of_vllm("tokenizers", "TokenizerRegistry")
        load = getattr(registry, "load_tokenizer", None) or registry.get_tokenizer
        return accelerate(load("hf", *args, **kwargs))


# SGLang
# ------------------------------------------------------------------------------------------


def patch_for_sglang() -> None:
    """Call `patch_transformers` if the environment variable `SGLANG_PLUGINS` names bpetite.

    SGLang calls it in each of its processes, as the entry point `sglang.srt.plugins`; without that
    variable, it calls those of all packages that are installed.

    >>> patch_for_sglang()
    """
    named = os.environ.get("SGLANG_PLUGINS", "").split(",")
    if _MODE in map(str.strip, named):
        patch_transformers()
