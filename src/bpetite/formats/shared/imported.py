"""The result of reading another library's file: a vocabulary, the assumptions, and the file; and what a
format cannot hold of a tokenizer: an error where ids would change, and a sentence where they would
not.
"""

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Literal, NamedTuple, Self

from bpetite._constants import UNICODE_VERSION
from bpetite._internal.arguments import worded
from bpetite._internal.files import contents, write_all
from bpetite._internal.types import AnyPath
from bpetite.encoding.template import AnyTemplate, Template
from bpetite.patterns import pattern_name
from bpetite.vocabulary import Vocabulary

_CONFIGURING = (
    r"(?:tokenizer_config|special_tokens_map|added_tokens)\.json|tokenization_.*|.*chat_template.*"
)
"""The names of files that configure a tokenizer, and hold no vocabulary."""

Missing = Literal["refuse", "drop"]
"""What becomes of a byte without a token: its text is refused, or it is left out."""

IN_TEXTS = (*range(0xC0), *range(0xC2, 0xF5))
"""The bytes that can occur in UTF-8."""


class Original(NamedTuple):
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

    def with_content(self, content: bytes) -> Self:
        """Return the files of a changed tokenizer: those that configure it stay, other copies go."""
        first, *others = self.files
        kept = {name: self.files[name] for name in others if re.fullmatch(_CONFIGURING, name)}
        return self._replace(files={first: content, **kept})

    def write_file(self, path: AnyPath, *, overwrite: bool) -> None:
        """Write the file that holds the tokenizer."""
        write_all({path: self.content}, overwrite=overwrite)

    def write_folder(self, folder: AnyPath, *, overwrite: bool) -> None:
        """Write all files into a folder, which is created where it is missing."""
        files: dict[AnyPath, bytes] = {
            os.path.join(folder, name): content for name, content in self.files.items()
        }
        write_all(files, overwrite=overwrite, folder=folder)


class Imported(NamedTuple):
    """A vocabulary that came out of another library's file or object."""

    vocabulary: Vocabulary

    assumed: Sequence[str] = ()
    """Sentences about what the file does not say and was assumed."""

    extras: Sequence[str] = ()
    """Sentences about what the file has and a vocabulary cannot hold."""

    drops_missing: bool = False
    """Whether its library leaves bytes without a token out of a text."""

    is_own: bool = False
    """Whether it is one of ours, of which nothing is assumed."""

    original: Original | None = None
    """What can be written again."""

    template: AnyTemplate = None
    """What its library puts around a text."""

    @property
    def assumptions(self) -> list[str]:
        """All assumptions: those about the file, and those about every import."""
        if self.is_own:
            return [*self.assumed]
        around = [] if self.template is None else [TEMPLATE_ASSUMPTION]
        lacking = lacking_bytes(self.vocabulary)
        if lacking and self.drops_missing and not self.vocabulary.drops_missing:
            lacking = [_or_dropped(lacking[0])]
        return [*self.assumed, *around, *lacking, UNICODE_ASSUMPTION]

    def dropping(self) -> Self:
        """Return a copy that does what its library does with missing bytes."""
        if not lacking_bytes(self.vocabulary) or self.vocabulary.unknown is not None:
            return self  # Nothing is missing, or there is a token for it.
        if not self.drops_missing:
            raise ValueError(
                "bytes without a token cannot be left out, as its own library does not do that"
            )
        return self._replace(vocabulary=replace(self.vocabulary, drops_missing=True))

    def read_from(self, kind: str, files: Mapping[AnyPath, bytes]) -> Self:
        """Return a copy with the files that it was read from."""
        kept = {os.path.basename(path): content for path, content in files.items()}
        return self._replace(original=Original(kind, kept, self.extras))


def read_files(
    kind: str, parse: Callable[..., Imported], paths: Sequence[AnyPath], *how: Any
) -> Imported:
    """Read the files of a format; `parse` takes the path and the content of each, and how to read them."""
    files = [(path, contents(path)) for path in paths]
    return parse(*chain.from_iterable(files), *how).read_from(kind, dict(files))


def lacking_bytes(vocabulary: Vocabulary) -> list[str]:
    """Return an assumption about the bytes or characters without a token, if there are any."""
    if vocabulary.unknown is not None and vocabulary.provisional:
        return [
            f"a character without a token becomes id {vocabulary.unknown[0]}: decoding cannot restore it"
        ]
    lacking = set(IN_TEXTS) - set(vocabulary.id_of_byte)
    at_ends = ""
    if vocabulary.word_end is not None and len(vocabulary.provisional) > 1:
        provisional = map(vocabulary.tokens.__getitem__, vocabulary.provisional)
        lacking |= {token[0] for token in provisional if len(token) > 1}.intersection(IN_TEXTS)
        at_ends = ", at the end of words or anywhere"
    elif vocabulary.lacks_characters:
        without = "a character without a token"
        if vocabulary.drops_missing:
            return [f"{without} is left out of a text"]
        return [f"a text with {without} cannot be encoded"]
    if not lacking:
        return []
    which = f"byte {min(lacking):#04x} has no token{at_ends}"
    if len(lacking) > 1:
        which = f"{len(lacking)} bytes, such as {min(lacking):#04x}, have no token{at_ends}"
    becomes = "a text with such a byte cannot be encoded"
    if vocabulary.unknown is not None:
        becomes = (
            f"in a text they become id {vocabulary.unknown[0]}, and decoding cannot restore them"
        )
    elif vocabulary.drops_missing:
        becomes = "in a text they are left out"
    return [f"{which}: {becomes}"]


def _or_dropped(lacking: str) -> str:
    """Add to the sentence about bytes without a token how they are left out.

    >>> _or_dropped("byte 0x00 has no token: a text with such a byte cannot be encoded")[58:]
    "encoded unless missing='drop' leaves it out, as its own library does"
    """
    leaves_out = "leaves it out, as its own library does"
    return worded(lambda name: f"{lacking} unless {name('missing', 'drop')} {leaves_out}")


def parsed_unlike(library: str) -> str:
    """Say that a library takes special tokens in a text as ordinary text.

    >>> parsed_unlike("mistral_common")
    "a special token in a text gets its id unless special='text'; mistral_common takes it as ordinary text"
    """
    text, other = "a special token in a text gets its id", f"{library} takes it as ordinary text"
    return worded(lambda name: f"{text} unless {name('special', 'text')}; {other}")


UNICODE_ASSUMPTION = (
    f"letters, digits and white space are those of Unicode {UNICODE_VERSION}; "
    "a library with older tables may cut text differently at newer characters"
)
"""An assumption of every import, as no file names its Unicode version."""

TEMPLATE_ASSUMPTION = (
    "encode puts no special tokens around a text (elsewhere: add_special_tokens=False) unless "
    "add_special_tokens=True asks for them"
)
"""An assumption of every import whose library puts tokens around a text."""


def has_id(vocabulary: Vocabulary, token_id: object) -> bool:
    """Whether a token has this id.

    >>> vocabulary = Vocabulary({byte: bytes([byte]) for byte in range(256)}, [], {"<s>": 300})
    >>> has_id(vocabulary, 300), has_id(vocabulary, 299), has_id(vocabulary, "<s>")
    (True, False, False)
    """
    if type(token_id) is not int or token_id in vocabulary.provisional:
        return False
    is_other = token_id in vocabulary.decode_only or token_id in vocabulary.special_tokens.values()
    return is_other or vocabulary.arrays.token_of(token_id) is not None


# What a format cannot hold
# -----------------------------------------------------------------------------

_MOST_NAMED = 3


def check_holds(vocabulary: Vocabulary, what: str, instead: str) -> None:
    """Refuse a vocabulary with something that neither GPT-2's files nor tiktoken's can hold.

    >>> check_holds(Vocabulary({}, [], normalization="NFC", irregular=True), "vocab.json", "another can")
    Traceback (most recent call last):
    ValueError: vocab.json cannot hold the normalization NFC; another can
    """
    check_merges_bytes(vocabulary)
    flagged = [
        f"{text!r:.80}: {', '.join(flags)}" for text, flags in vocabulary.token_flags.items()
    ]
    parts = {
        f"the normalization {vocabulary.normalization!s:.80}": vocabulary.normalization is not None,
        "which token stands for unknown bytes": vocabulary.unknown is not None,
        f"flags of special tokens ({''.join(flagged[:1])})": bool(flagged),
        "two tokens of the same bytes": len(set(vocabulary.tokens.values()))
        < len(vocabulary.tokens),
    }
    for part, is_there in parts.items():
        if is_there:
            raise ValueError(f"{what} cannot hold {part}; {instead}")


def check_merges_bytes(vocabulary: Vocabulary) -> None:
    """Refuse a vocabulary whose merges begin with characters, which no format can be written from."""
    if vocabulary.word_end is not None or vocabulary.word_start is not None:
        where = "beginnings" if vocabulary.word_end is None else "ends"
        raise ValueError(
            f"a vocabulary with tokens for the {where} of words is only written as the files that it was "
            "read from; its artifact can hold it"
        )
    if vocabulary.provisional:
        raise ValueError(
            "a vocabulary whose merges begin with characters is only written as the tokenizer.json that it "
            "was read from; its artifact can hold it"
        )
    if vocabulary.equal_ranks:
        raise ValueError(
            "no format of another library holds merges of equal ranks; its artifact can hold it"
        )


def losses(
    vocabulary: Vocabulary,
    original: Original | None,
    kind: str,
    template: AnyTemplate = None,
    *,
    to_folder: bool = False,
) -> list[str]:
    """Return what a format (`bpetite`, `tiktoken`, `huggingface`, `gpt2`) cannot hold of a tokenizer.

    `original` are the files that it was read from; they are written again if they have this format.

    >>> ones = {byte: bytes([byte]) for byte in range(256)}
    >>> losses(Vocabulary(ones, [], {"<|x|>": 256}), None, "gpt2")
    ['the files do not say which tokens are special; name them when you load the files']
    """
    if original is not None and kind == original.kind:
        return list(_of_files(original, to_folder=to_folder))
    lost = list(_of_vocabulary(vocabulary, kind))
    if template is not None and not (kind == "huggingface" and isinstance(template, Template)):
        lost.append("lost: the template that puts tokens around a text")
    if original is None:
        return lost
    extras = [f"lost: {what}" for what in original.extras]
    return [*lost, *extras, *_of_files(original, to_folder=False)]


def _of_vocabulary(vocabulary: Vocabulary, kind: str) -> Iterator[str]:
    if kind == "bpetite":
        return
    if kind == "tiktoken":
        pattern = pattern_name(vocabulary.pattern) or repr(vocabulary.pattern)
        yield f"the file does not hold the pattern; give it when you load the file: {pattern}"
    if kind == "tiktoken" and vocabulary.special_tokens:
        yield "the file does not hold the special tokens; give them and their ids when you load the file"
    if kind == "gpt2" and vocabulary.special_tokens:
        yield "the files do not say which tokens are special; name them when you load the files"
    if kind != "huggingface" and vocabulary.added_tokens:
        yield f"lost: that these tokens are added but not special: {some(vocabulary.added_tokens)}"
    if kind != "tiktoken" and vocabulary.decode_only:
        yield f"lost: tokens that no text becomes, which are only decoded: {len(vocabulary.decode_only)}"
    if vocabulary.drops_space:
        yield "lost: that decoding leaves out the space that a text begins with"


def _of_files(original: Original, *, to_folder: bool) -> Iterator[str]:
    if original.companions and not to_folder:
        yield f"left behind: the other files of the tokenizer's folder, {some(original.companions)}"
    if original.left_behind and to_folder:
        yield f"left behind, as they are not the tokenizer's: {some(original.left_behind)}"


def of_beside(texts: Collection[str]) -> str:
    """Say that a configuration names the special tokens.

    >>> of_beside(["<a>"])
    "the special tokens are named by the files next to it: '<a>'"
    """
    return f"the special tokens are named by the files next to it: {some(texts)}"


def some(texts: Collection[str]) -> str:
    """Name texts, of many only the first."""
    shown = ", ".join(f"{text!r:.80}" for text in sorted(texts)[:_MOST_NAMED])
    more = len(texts) - _MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown
