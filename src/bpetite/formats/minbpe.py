"""minbpe's `.model`: lines of text in, a vocabulary out.

The lines are `minbpe v1`, the pattern (none for a `BasicTokenizer`), the number of special tokens,
each of them with its id, and the pair of ids of each merge, whose tokens have the ids from 256 on.
"""

from collections.abc import Sequence

from bpetite._constants import BASE_VOCAB_SIZE, Pair
from bpetite._engine import covers_all_text
from bpetite._internal.json import decoded, naming
from bpetite._internal.types import AnyPath
from bpetite.formats.shared.imported import Imported
from bpetite.patterns import PATTERNS
from bpetite.vocabulary import LARGEST_ID, Arrays, Vocabulary


def parse(path: AnyPath, content: bytes) -> Imported:
    """Read a model; errors name `path`."""
    with naming(path):
        lines = [line.strip() for line in decoded(path, content).split("\n")]
        while lines and not lines[-1]:
            lines.pop()
        pattern = lines[1] if len(lines) > 1 else ""
        [count] = _numbers(lines, 2, 1)
        first_merge = 3 + count
        special_tokens = dict(_special_token(lines, place) for place in range(3, first_merge))
        merges = [_pair(lines, place) for place in range(first_merge, len(lines))]
        base = {byte: bytes([byte]) for byte in range(BASE_VOCAB_SIZE)}
        ids = range(BASE_VOCAB_SIZE, BASE_VOCAB_SIZE + len(merges))
        pattern = pattern or PATTERNS["none"]
        arrays = Arrays.of(base, merges, ids)
        vocabulary = Vocabulary.of_arrays(arrays, special_tokens=special_tokens, pattern=pattern)
        dropped = "text that the pattern does not match is kept, which minbpe drops"
        return Imported(vocabulary, [] if covers_all_text(pattern) else [dropped])


def _special_token(lines: Sequence[str], place: int) -> tuple[str, int]:
    text, _, number = lines[place].rpartition(" ") if place < len(lines) else ("", "", "")
    if not (text and _is_id(number)):
        raise ValueError(f"line {place + 1} must be a special token and its id")
    return text, int(number)


def _pair(lines: Sequence[str], place: int) -> Pair:
    left, right = _numbers(lines, place, 2)
    return left, right


def _numbers(lines: Sequence[str], place: int, count: int) -> list[int]:
    """Return the numbers of a line."""
    parts = lines[place].split() if place < len(lines) else []
    if len(parts) != count or not all(map(_is_id, parts)):
        what = "the number of special tokens" if count == 1 else "the two ids of a merge"
        raise ValueError(f"line {place + 1} must be {what}")
    return [int(part) for part in parts]


def _is_id(digits: str) -> bool:
    return (
        digits.isascii() and digits.isdecimal() and len(digits) <= 10 and int(digits) <= LARGEST_ID
    )
