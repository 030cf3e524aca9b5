"""The result of reading another library's file: a vocabulary, the assumptions, and the file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bpetite._constants import UNICODE_VERSION
from bpetite._internal.arguments import worded
from bpetite._internal.names import is_folder_name
from bpetite._internal.types import Path
from bpetite.vocabulary import Vocabulary

_CONFIGURING = r"(?:tokenizer_config|special_tokens_map|added_tokens)\.json|tokenization_.*|.*chat_template.*"
"""The names of files that configure a tokenizer, and hold no vocabulary."""

IN_TEXTS = (*range(0xC0), *range(0xC2, 0xF5))
"""The bytes that can occur in UTF-8."""


@dataclass(frozen=True)
class Original:
    """The unchanged files that a tokenizer was read from, so that they can be written again."""

    kind: str
    """The format: `huggingface`, `tiktoken`, `gpt2`, `tekken`, `sentencepiece` or `gguf`."""

    files: Mapping[str, bytes]
    """The content of each file by its name; those that hold the tokenizer come first. (There are none
    for a GGUF file with the weights of a model, which are not kept.)"""

    extras: Sequence[str] = ()
    """Sentences about what the files have and a vocabulary cannot hold."""

    is_folder: bool = False
    """Whether a whole folder was read; `files` are then all of the tokenizer's files in it."""

    left_behind: tuple[str, ...] = ()
    """The other files of the folder."""

    @property
    def content(self) -> bytes:
        """The content of the file that holds the tokenizer, or of the first of two."""
        return next(iter(self.files.values()))

    @property
    def companions(self) -> list[str]:
        """The names of the files that only configure the tokenizer."""
        return list(self.files)[2 if self.kind == "gpt2" else 1 :]

    def is_written_to_folder(self, path: Path) -> bool:
        """Whether `path` will be a folder of all files, and not the file that holds the tokenizer."""
        if self.kind == "gpt2" or is_folder(path):
            return True
        own = {_ending(next(iter(self.files)))} | ({".json"} if self.kind == "huggingface" else set())
        return (self.is_folder or self.kind == "huggingface") and _ending(path) not in own

    def with_content(self, content: bytes) -> Original:
        """Return the files of a changed tokenizer: those that configure it stay, other copies go."""
        first, *others = self.files
        kept = {name: self.files[name] for name in others if re.fullmatch(_CONFIGURING, name)}
        return replace(self, files={first: content, **kept})

    def at(self, path: Path) -> dict[Path, bytes]:
        """Return the files to write, by path."""
        if self.is_written_to_folder(path):
            return {os.path.join(path, name): content for name, content in self.files.items()}
        return {path: self.content}


def is_folder(path: Path) -> bool:
    """Whether a path is that of a folder, or written like one.

    >>> is_folder("model/"), is_folder("model/tokenizer.json")
    (True, False)
    """
    return is_folder_name(os.fspath(path)) or os.path.isdir(path)


def _ending(path: Path) -> str:
    return os.path.splitext(path)[1]


@dataclass(frozen=True)
class Imported:
    """A vocabulary that came out of another library's file or object."""

    vocabulary: Vocabulary

    said: Sequence[str] = ()
    """Sentences about what the file does not say and was assumed."""

    extras: Sequence[str] = ()
    """Sentences about what the file has and a vocabulary cannot hold."""

    drops_missing: bool = False
    """Whether its library leaves bytes without a token out of a text."""

    is_own: bool = False
    """Whether it is one of ours, of which nothing is assumed."""

    original: Original | None = None
    """What can be written again."""

    @property
    def assumptions(self) -> list[str]:
        """All that was assumed."""
        if self.is_own:
            return [*self.said]
        return [*self.said, *lacking_bytes(self.vocabulary), UNICODE_ASSUMPTION]

    def dropping(self) -> Imported:
        """Return a copy that does what its library does with missing bytes."""
        if not lacking_bytes(self.vocabulary) or self.vocabulary.unknown is not None:
            return self  # Nothing is missing, or there is a token for it.
        if not self.drops_missing:
            raise ValueError(
                "bytes without a token cannot be left out, as its own library does not do that either"
            )
        return replace(self, vocabulary=replace(self.vocabulary, drops_missing=True))

    def read_from(self, kind: str, files: Mapping[Path, bytes], *, is_kept: bool = True) -> Imported:
        """Return a copy with the files that it was read from."""
        kept = {os.path.basename(path): content for path, content in files.items() if is_kept}
        return replace(self, original=Original(kind, kept, self.extras))


def lacking_bytes(vocabulary: Vocabulary) -> list[str]:
    """Return an assumption about the bytes or characters without a token, if there are any."""
    if vocabulary.unknown is not None and vocabulary.provisional:
        return [f"a character without a token becomes id {vocabulary.unknown[0]}: decoding cannot restore it"]
    lacking = set(IN_TEXTS) - set(vocabulary.id_of_byte)
    if not lacking:
        return []
    which = f"byte {min(lacking):#04x} has no token"
    if len(lacking) > 1:
        which = f"{len(lacking)} bytes, such as {min(lacking):#04x}, have no token"
    if vocabulary.unknown is not None:
        return [
            f"{which}: in a text they become id {vocabulary.unknown[0]}, and decoding cannot restore them"
        ]
    if vocabulary.drops_missing:
        return [f"{which}: in a text they are left out"]
    return [f"{which}: a text with such a byte cannot be encoded"]


def parsed_unlike(library: str) -> str:
    """Say that a library takes special tokens in a text as ordinary text.

    >>> parsed_unlike("mistral_common")
    "a special token in a text gets its id unless special='text'; mistral_common takes it as ordinary text"
    """
    return worded(
        lambda name: (
            f"a special token in a text gets its id unless {name('special', 'text')}; "
            f"{library} takes it as ordinary text"
        )
    )


UNICODE_ASSUMPTION = (
    f"letters, digits and white space are those of Unicode {UNICODE_VERSION}; "
    "a library with older tables may cut text differently at newer characters"
)
"""An assumption of every import, as no file names its Unicode version."""
