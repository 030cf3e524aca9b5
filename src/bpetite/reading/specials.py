"""The beginning of a corpus in, a sentence out about special tokens that would be counted as text there."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import chain, islice
from typing import Any

from bpetite._engine import TextColumn
from bpetite._internal.arguments import Message, shortened, worded
from bpetite._internal.integers import counted
from bpetite._internal.record import replaced
from bpetite.patterns import PATTERNS
from bpetite.reading.batches import Batch
from bpetite.reading.cuts import cutter
from bpetite.reading.options import Reading
from bpetite.reading.sources import Input

_FILES = 16
"""The number of files that are looked into: into the first megabytes of each."""

_DOCUMENTS, _CHARACTERS = 1000, 1 << 20
"""The most documents of an iterable that are looked into, and the most of their text: of each, and
about so much of all."""


def noticed_in_files(
    inputs: Sequence[Input], reading: Reading, tokens: Iterable[str]
) -> Message | None:
    """Return a sentence about special tokens in the text of files; None if there are none.

    What is wrong in a file is left for those to say who read all of it.
    """
    from bpetite.reading.documents import read_batches  # slow to import

    files = [found for found in inputs if found.found_size]
    cut = cutter([PATTERNS["gpt2"]], tokens)  # any pattern: the pieces are only to be short
    reading = replaced(reading, hold_out=None, split="train", invalid="replace", cut=cut)

    def contents() -> Iterator[bytes]:
        for file in files[:: len(files) // _FILES + 1]:
            refused = suppress(OSError, ValueError, MemoryError, ImportError)
            with refused, closing(read_batches(file, reading)) as read:
                yield from map(_content, next(read, Batch([])).texts)

    return _noticed(contents(), tokens)


def noticed_in(
    documents: Iterator[Any], tokens: Iterable[str]
) -> tuple[Message | None, Iterator[Any]]:
    """Return a sentence about special tokens in documents, None if there are none; and all documents."""
    taken: list[Any] = []
    contents: list[bytes] = []
    size = 0
    for document in documents:
        taken.append(document)
        for text in (
            islice(document, _DOCUMENTS) if isinstance(document, TextColumn) else [document]
        ):
            is_text = isinstance(text, str | bytes)
            contents.append(_content(text[:_CHARACTERS] if is_text else text))
            size += len(contents[-1])
        if size >= _CHARACTERS or len(contents) >= _DOCUMENTS:
            break
    return _noticed(contents, tokens), chain(taken, documents)


def _content(document: object) -> bytes:
    """Return the bytes of a document; what is no text is refused when it is counted."""
    if isinstance(document, str):
        return document.encode("utf-8", "replace")
    return document if isinstance(document, bytes) else b""


def _noticed(contents: Iterable[bytes], tokens: Iterable[str]) -> Message | None:
    longest_first = sorted((token.encode("utf-8") for token in tokens), key=len, reverse=True)
    some = re.compile(b"|".join(map(re.escape, longest_first)))
    times: Counter[bytes] = Counter()
    size = 0
    for content in contents:
        times.update(some.findall(content))
        size += len(content)
    if not times:
        return None
    most_often = times.most_common(3)
    named = ", ".join(
        f"{shortened(token.decode())} {counted(number, 'time')}" for token, number in most_often
    )
    found = f"special tokens are in the corpus ({named} in the {size:,} bytes looked into)"
    what = f"{found} and are counted as text"
    return worded(lambda name: f"{what}; with {name('dialect', 'tiktoken')} they end documents")
