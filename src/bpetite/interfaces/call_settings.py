"""The settings of a `tokenizers.Tokenizer` that are changed before each call, separately for each thread.

Transformers sets truncation, padding and `encode_special_tokens` of one tokenizer for all threads,
and then encodes. The real tokenizer follows what another thread sets between these two steps. Here,
what a thread has set or read holds for its next call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple


class CallSettings(NamedTuple):
    """What a call follows: truncation, padding, and whether special tokens are read as text."""

    truncation: dict[str, Any] | None
    padding: dict[str, Any] | None
    encode_special_tokens: bool

    @classmethod
    def of(cls, real: Any) -> CallSettings:
        """Return the settings of a real tokenizer."""
        return cls(real.truncation, real.padding, real.encode_special_tokens)

    def key(self) -> Hashable:
        """Return a value that is equal for equal settings."""
        truncation = self.truncation and tuple(self.truncation.items())
        padding = self.padding and tuple(self.padding.items())
        return truncation, padding, self.encode_special_tokens


class _OfThread(threading.local):
    """The settings that hold for the next call of a thread."""

    def __init__(self) -> None:
        self.pinned: dict[str, Any] = {}


class SettingsOfThreads:
    """The last settings of a tokenizer, and those that threads have set or read."""

    def __init__(self, last: CallSettings) -> None:
        self.last = last
        """What was set last, in any thread."""
        self._thread = _OfThread()
        self._lock = threading.Lock()

    @property
    def is_pinned(self) -> bool:
        """Whether this thread has set or read something since its last call."""
        return bool(self._thread.pinned)

    def read(self, name: str) -> Any:
        """Return a setting, which holds for the next call of this thread."""
        return self._thread.pinned.setdefault(name, getattr(self.last, name))

    def set(self, name: str, value: Any) -> None:
        """Change a setting of all threads, which holds for the next call of this one."""
        with self._lock:
            self.last = self.last._replace(**{name: value})
        self._thread.pinned[name] = value

    def current(self) -> CallSettings:
        """Return the settings for the next call of this thread."""
        return self._with(self._thread.pinned)

    def take(self) -> CallSettings:
        """Return the settings for a call of this thread that begins now."""
        pinned = self._thread.pinned
        settings = self._with(pinned)
        pinned.clear()
        return settings

    def _with(self, pinned: dict[str, Any]) -> CallSettings:
        last = self.last
        for name, value in pinned.items():
            if value is not getattr(last, name):
                return last._replace(**pinned)
        return last


class Lender:
    """A real tokenizer that is lent to calls, each of which may want other settings."""

    def __init__(self, real: Any) -> None:
        self.real = real
        self._applied = CallSettings.of(real)
        """What the real tokenizer is set to."""
        self._lock = threading.Condition()
        self._users = 0
        """The number of calls that the real tokenizer is working on."""
        self._waiting = 0
        """The number of threads that wait until it works on none."""

    def changed(self, name: str, change: Callable[[Any], object]) -> Any:
        """Change a setting by a method of the real tokenizer, which may refuse the value, and return it."""
        with self._lock:
            self._wait_for_calls()
            change(self.real)
            value = getattr(self.real, name)
            self._applied = self._applied._replace(**{name: value})
        return value

    @contextmanager
    def lent(self, settings: CallSettings | None) -> Iterator[Any]:
        """Lend the real tokenizer with these settings, or with any; meanwhile nobody changes them."""
        with self._lock:
            # Nobody joins while somebody waits: whoever wants other settings would wait for ever.
            if self._waiting or self._is_other(settings):
                self._wait_for_calls()
            if settings is not None and self._is_other(settings):
                self._apply(settings)
            self._users += 1
        try:
            yield self.real
        finally:
            with self._lock:
                self._users -= 1
                self._lock.notify_all()

    def _is_other(self, settings: CallSettings | None) -> bool:
        return settings is not None and settings != self._applied

    def _wait_for_calls(self) -> None:
        self._waiting += 1
        try:
            self._lock.wait_for(lambda: self._users == 0)
        finally:
            self._waiting -= 1

    def _apply(self, settings: CallSettings) -> None:
        real = self.real
        if settings.truncation:
            real.enable_truncation(**settings.truncation)
        else:
            real.no_truncation()
        if settings.padding:
            real.enable_padding(**settings.padding)
        else:
            real.no_padding()
        real.encode_special_tokens = settings.encode_special_tokens
        self._applied = settings
