"""Byte-level BPE training, written to be read: from a corpus to merges and a vocabulary.

1. The corpus is normalized, if that is wanted, and `pretokenize` cuts it; no pair ever crosses a
   pretoken.
2. Equal pretokens are counted once, with their multiplicity.
3. The merge loop counts all pairs afresh, picks the best one, and applies it everywhere, until the
   vocabulary is full or no pair is left.
4. Special tokens get their ids.

This is the specification: the engine must give the same result, and the tests check that it does.
"""

from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Literal

from bpetite._constants import (
    BASE_VOCAB_SIZE,
    END_OF_TEXT_TOKEN,
    PRETOKENIZER_PATTERN,
    Pair,
    Pattern,
)
from bpetite._pretokenizer import pieces, pretokenize, split_at_specials
from bpetite.dialect import Dialect, unmatched_text_of
from bpetite.specification.added_tokens import AddedToken, Normalize, sections
from bpetite.specification.normalizer import Beginning, Step, aligned

Word = tuple[int, ...]


@dataclass(frozen=True)
class TrainerResult:
    """The result of training; `merges` are pairs of ids, in the order in which they were chosen."""

    vocab: Mapping[int, bytes]
    merges: tuple[Pair, ...]
    mergeable_vocab_size: int
    special_tokens: Mapping[str, int]


@dataclass(frozen=True)
class ProgressEvent:
    """A report of progress: `start` once, `merge` after every hundredth merge, `complete` once."""

    kind: Literal["start", "merge", "complete"]
    merges_completed: int
    merges_planned: int


def train_bpe(
    corpus: str,
    vocab_size: int,
    *,
    progress: Callable[[ProgressEvent], object] | None = None,
    dialect: str | Dialect = "bpetite",
    pattern: Pattern = PRETOKENIZER_PATTERN,
    special_tokens: Sequence[str] = (END_OF_TEXT_TOKEN,),
    min_count: int = 1,
    max_token_length: int | None = None,
    normalization: Sequence[Step] = (),
    max_words: int | None = None,
    without: Sequence[str] = (),
    whole_characters: bool = False,
    taken: Collection[bytes] | None = None,
) -> TrainerResult:
    """Learn merges from a corpus until the vocabulary has the wanted size or no pair is left.

    Pretokens rarer than `min_count` are dropped; no token grows beyond `max_token_length` bytes.
    The bytes of a new token have at most `max_words` words (runs of bytes other than spaces) and
    none of the texts of `without`; for `whole_characters`, they are valid UTF-8, or the first bytes
    of one character and nothing else. They are none of `taken`, if there are such, and then of no
    earlier merge either.
    The text between special tokens is normalized by the steps of `normalization` before it is cut.

    >>> train_bpe("ab ab ab", 258).merges
    ((97, 98), (32, 256))
    >>> train_bpe("a a a", 258, pattern="(?s:.+)", max_words=1).merges
    ((32, 97),)
    """
    rules = Dialect.named(dialect)
    planned = rules.planned_tokens(vocab_size, len(special_tokens))
    report = progress or (lambda event: None)
    report(ProgressEvent("start", 0, planned))

    vocab = rules.base_vocabulary(len(special_tokens))
    next_id = rules.first_merge_id(len(special_tokens))
    id_of = {token: token_id for token_id, token in vocab.items()}
    words = _count_words(corpus, id_of, rules, pattern, special_tokens, normalization)
    words = {word: count for word, count in words.items() if count >= min_count}
    merges: list[Pair] = []
    refused = set(taken or ())

    def is_allowed(token: bytes) -> bool:
        if max_token_length is not None and len(token) > max_token_length:
            return False
        if max_words is not None and _count_of_words(token) > max_words:
            return False
        if any(text.encode("utf-8") in token for text in without):
            return False
        if whole_characters and not _is_of_whole_characters(token):
            return False
        return token not in refused

    while len(vocab) < BASE_VOCAB_SIZE + planned:
        pair_counts = _count_pairs(words)
        pair_counts = _only_allowed(pair_counts, vocab, is_allowed)
        if not pair_counts:
            break
        left, right = _select_best_pair(pair_counts, rules, vocab)
        token = vocab[left] + vocab[right]
        if rules.equal_tokens == "shared" and token in id_of:
            new_id = id_of[token]
        else:
            new_id = next_id
            next_id += 1
            vocab[new_id] = token
            id_of[token] = new_id
        words = _apply_merge_to_words(words, (left, right), new_id)
        merges.append((left, right))
        if taken is not None:
            refused.add(token)
        if len(merges) % 100 == 0:
            report(ProgressEvent("merge", len(merges), planned))

    report(ProgressEvent("complete", len(merges), planned))
    mergeable_vocab_size = len(vocab)
    specials = rules.special_token_ids(special_tokens, mergeable_vocab_size)
    vocab.update((token_id, text.encode("utf-8")) for text, token_id in specials.items())
    return TrainerResult(
        vocab=MappingProxyType(dict(sorted(vocab.items()))),
        merges=tuple(merges),
        mergeable_vocab_size=mergeable_vocab_size,
        special_tokens=MappingProxyType(specials),
    )


def count_like(
    text: str, tokens: Sequence[AddedToken], normalize: Normalize, pattern: Pattern
) -> Counter[bytes]:
    """Count the pretokens that a tokenizer makes tokens of; its added tokens are not among them.

    >>> from bpetite.specification.added_tokens import unchanged
    >>> dict(count_like("a <s>a", [AddedToken("<s>", 0, lstrip=True)], unchanged, ".+"))
    {b'a': 2}
    """
    counts: Counter[bytes] = Counter()
    for section in sections(text, tokens, normalize):
        if section.token_id is None:
            counts.update(pretokenize(section.text, pattern))
    return counts


def _normalized_segments(
    corpus: str, boundaries: Sequence[str], normalization: Sequence[Step]
) -> Iterator[str]:
    """Yield the text between boundaries, normalized.

    >>> list(_normalized_segments("A<x>B", ["<x>"], [("Lowercase",)]))
    ['a', 'b']
    """
    place = 0
    for segment, is_special in split_at_specials(corpus, boundaries):
        if not is_special:
            beginning: Beginning = "text" if place == 0 else "segment"
            normalized, _ = aligned(segment, normalization, beginning)
            yield normalized
        place += len(segment)


def _count_words(
    corpus: str,
    id_of: Mapping[bytes, int],
    rules: Dialect,
    pattern: Pattern,
    special_tokens: Sequence[str],
    normalization: Sequence[Step] = (),
) -> dict[Word, int]:
    """Count the pretokens of a corpus, each as the tuple of its base ids."""
    words: Counter[Word] = Counter()
    boundaries = rules.boundaries(special_tokens)
    for segment in _normalized_segments(corpus, boundaries, normalization):
        for piece, is_match in pieces(segment, pattern):
            if is_match or unmatched_text_of(rules, pattern) == "counted":
                word = tuple(id_of[bytes([byte])] for byte in piece)
                words[word] += 1
    return words


def _count_pairs(words: Mapping[Word, int]) -> Counter[Pair]:
    """Count every adjacent pair, weighted by how often its word occurs.

    >>> dict(_count_pairs({(97, 98): 1, (32, 97, 98): 2}))
    {(97, 98): 3, (32, 97): 2}
    """
    counts: Counter[Pair] = Counter()
    for word, weight in words.items():
        for pair in pairwise(word):
            counts[pair] += weight
    return counts


def _only_allowed(
    pair_counts: Counter[Pair], vocab: Mapping[int, bytes], is_allowed: Callable[[bytes], bool]
) -> Counter[Pair]:
    """Keep the pairs whose token is allowed."""
    allowed: Counter[Pair] = Counter()
    for (left, right), count in pair_counts.items():
        if is_allowed(vocab[left] + vocab[right]):
            allowed[left, right] = count
    return allowed


def _count_of_words(token: bytes) -> int:
    """Count the runs of bytes other than spaces.

    >>> _count_of_words(b" in  the ")
    2
    """
    return sum(1 for word in token.split(b" ") if word)


def _is_of_whole_characters(token: bytes) -> bool:
    """Whether a token is valid UTF-8, or the first bytes of one character and nothing else.

    >>> token = "aé".encode()
    >>> [_is_of_whole_characters(part) for part in (token, token[1:2], token[:2], token[2:])]
    [True, True, False, False]
    """
    decoder = getincrementaldecoder("utf-8")()
    try:
        complete = decoder.decode(token)
    except UnicodeDecodeError:
        return False
    begun, _ = decoder.getstate()
    return not begun or not complete


def _select_best_pair(
    pair_counts: Mapping[Pair, int],
    rules: Dialect | None = None,
    vocab: Mapping[int, bytes] | None = None,
) -> Pair:
    """Pick the pair with the highest count; the dialect's tie rule decides among equals.

    >>> _select_best_pair({(99, 97): 1, (97, 98): 1})
    (97, 98)
    """
    highest = max(pair_counts.values())
    tied = sorted(pair for pair, count in pair_counts.items() if count == highest)
    tie_break = rules.tie_break if rules else "smallest_ids"
    if tie_break == "smallest_ids" or vocab is None:
        return tied[0]
    # Of pairs with the same bytes, `min` and `max` take the first: the one with the smallest ids.
    choose = max if tie_break == "largest_bytes" else min
    return choose(tied, key=lambda pair: (vocab[pair[0]], vocab[pair[1]]))


def _apply_merge_to_words(words: Mapping[Word, int], pair: Pair, new_id: int) -> dict[Word, int]:
    """Apply a merge to every word; if words become equal, their counts are added."""
    merged: Counter[Word] = Counter()
    for word, weight in words.items():
        merged_word = _apply_merge_to_word(word, pair, new_id)
        merged[merged_word] += weight
    return merged


def _apply_merge_to_word(word: Iterable[int], pair: Pair, new_id: int) -> Word:
    """Replace a pair in one non-overlapping pass from left to right.

    >>> _apply_merge_to_word((97, 97, 97), (97, 97), 256)
    (256, 97)
    """
    word = tuple(word)
    result: list[int] = []
    place = 0
    while place < len(word):
        if word[place : place + 2] == pair:
            result.append(new_id)
            place += 2
        else:
            result.append(word[place])
            place += 1
    return tuple(result)
