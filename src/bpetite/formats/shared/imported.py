"""The result of reading another library's file: a vocabulary, the assumptions, and the file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bpetite._constants import UNICODE_VERSION
from bpetite._internal.json import refuse
from bpetite._internal.names import is_folder_name
from bpetite._internal.types import Path
from bpetite.patterns import pattern_name
from bpetite.vocabulary import Vocabulary


@dataclass(frozen=True)
class Original:
    """The unchanged files that a tokenizer was read from, so that they can be written again."""

    kind: str
    """The format: `huggingface`, `tiktoken`, `gpt2`, `tekken`, `js-tiktoken`, `sentencepiece` or `gguf`."""

    files: Mapping[str, bytes]
    """The content of each file by its name; those that hold the tokenizer come first. (There are none
    for a GGUF file with the weights of a model, which are not kept.)"""

    extras: tuple[str, ...] = ()
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
        return self.is_folder and _ending(path) != _ending(next(iter(self.files)))

    def at(self, path: Path) -> dict[Path, bytes]:
        """Return the files to write, by path; they are compressed if their names say so."""
        if self.is_written_to_folder(path):
            return {os.path.join(path, name): content for name, content in self.files.items()}
        was_packed = _ending(next(iter(self.files))) == ".gz"
        if was_packed == (_ending(path) == ".gz"):
            return {path: self.content}
        import gzip  # slow to import

        return {path: gzip.decompress(self.content) if was_packed else gzip.compress(self.content, mtime=0)}


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
    """A vocabulary that came out of another library's file."""

    vocabulary: Vocabulary

    assumptions: Sequence[str] = ()
    """Sentences about what the file does not say and was assumed."""

    extras: tuple[str, ...] = ()
    """Sentences about what the file has and a vocabulary cannot hold."""

    original: Original | None = None
    """The file itself."""

    drops_missing: bool = False
    """Whether its library leaves bytes without a token out of a text."""

    def dropping(self, name: str) -> Imported:
        """Return a copy that does what its library does; an error names the file."""
        from bpetite.formats.shared.pairs import lacking_bytes  # It is needed where bytes are missing.

        vocabulary = self.vocabulary
        if not (refused := lacking_bytes(vocabulary)) or vocabulary.unknown is not None:
            return self  # Nothing is missing, or there is a token for it.
        if not self.drops_missing:
            refuse(
                name, "bytes without a token cannot be left out, as its own library does not do that either"
            )
        vocabulary = replace(vocabulary, drops_missing=True)
        said = [sentence for sentence in self.assumptions if sentence not in refused]
        return replace(self, vocabulary=vocabulary, assumptions=[*said, *lacking_bytes(vocabulary)])

    def read_from(self, kind: str, files: Mapping[Path, bytes]) -> Imported:
        """Return a copy with the files that it was read from."""
        named = {os.path.basename(path): content for path, content in files.items()}
        return replace(self, original=Original(kind, named, self.extras))


def assumed_pattern(pattern: str, source: str) -> str:
    """Return a sentence about the pattern and its origin."""
    name = pattern_name(pattern)
    return f"pretokens are cut by {name or repr(pattern)} ({source})"


UNICODE_ASSUMPTION = (
    f"letters, digits and white space are those of Unicode {UNICODE_VERSION}; "
    "a library with older tables may cut text with newer characters elsewhere"
)
"""An assumption of every import, as no file names its Unicode version."""
