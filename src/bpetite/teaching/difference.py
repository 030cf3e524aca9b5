"""Finds the first merge of a list that differs from a dialect's training on a corpus, and says why.

The engine trains on the corpus; at the first difference, all pairs are counted again.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any

from bpetite._constants import Pair, Pattern
from bpetite._internal.arguments import check_type, several
from bpetite._internal.integers import counted
from bpetite._internal.types import BytesPair
from bpetite.counts import Counts
from bpetite.dialect import Dialect
from bpetite.formats.shared.printable import from_printable, to_printable
from bpetite.teaching import mistakes
from bpetite.teaching.mistakes import (
    TIE_RULES,
    Word,
    best_of_tied,
    count_pairs,
    most_frequent,
    train_merges,
)
from bpetite.tokenizer import Tokenizer
from bpetite.training import Training
from bpetite.vocabulary import Vocabulary

Merge = BytesPair | tuple[str, str] | Pair | Sequence[int] | str
"""A merge in any usual form: a pair of bytes, of strings, of ids, or a line of a `merges.txt`."""


@dataclass(frozen=True)
class Difference:
    """The first merge in which a list differs from a training.

    >>> found = explain_difference("low lower lowest", [(b"l", b"o")])
    >>> found.rank, found.expected, found.expected_count
    (0, (b'o', b'w'), 3)
    """

    rank: int
    """The rank of the merge, from 0."""
    yours: BytesPair | None
    """The pair in the list, or None if it has ended."""
    expected: BytesPair | None
    """The pair that training merges, or None if it has ended."""
    your_count: int
    """The count of your pair, counted again."""
    expected_count: int
    """The count of the expected pair."""
    reason: str
    """The reason for the expected pair."""
    explanations: list[str] = field(default_factory=list)
    """Mistakes (or other rules) by which your pair would have been the best one."""
    cause: str = ""
    """The first mistake (or other rule) by which training gives all of your merges; empty if none does."""

    def __str__(self) -> str:
        same = f"The first {self.rank:,} merges are the same. " if self.rank else ""
        lines = [
            f"{same}Merge {self.rank:,} (from 0) differs:",
            f"  yours     {_counted(self.yours, self.your_count)}",
            f"  expected  {_counted(self.expected, self.expected_count)}",
            self.reason,
        ]
        if self.cause:
            lines.append(f"Training would give all of your merges {self.cause}.")
        if not self.cause or self.cause in self.explanations:  # else they are false leads
            others = [sentence for sentence in self.explanations if sentence != self.cause]
            lines += [f"Your pair would be the best one {sentence}." for sentence in others]
        if not self.cause and not self.explanations:
            lines.append("No common mistake was found.")
        return "\n".join(lines)


def _counted(pair: BytesPair | None, count: int) -> str:
    if pair is None:
        return "nothing: there are no more merges"
    return f"{pair[0]!r} + {pair[1]!r}  (counted {count:,} times)"


def merges_in(content: str) -> list[Merge]:
    """Read a list of merges as JSON or as Python prints it, or lines, the first of which may be a version.

    >>> merges_in('[["t", "h"]]'), merges_in("[(b't', b'h')]"), merges_in("#version: 0.2\\nt h")
    ([['t', 'h']], [(b't', b'h')], ['t h'])
    """
    if not content.lstrip().startswith("["):
        lines = [line for line in content.splitlines() if line.strip()]
        return list(lines[1:] if lines and lines[0].startswith("#version") else lines)
    try:
        return list(json.loads(content))
    except (ValueError, RecursionError) as not_json:
        try:
            return list(ast.literal_eval(content.strip()))
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            raise ValueError(
                f"not a list of merges, as JSON or as Python prints it: {not_json}"
            ) from None


def explain_difference(
    corpus: str | Iterable[str | bytes] | Counts,
    merges: Iterable[Merge],
    *,
    dialect: str | Dialect = "cs336",
    pattern: Pattern = "gpt2",
    special_tokens: Sequence[str] | None = None,
    texts: Sequence[str | bytes] = (),
) -> Difference | None:
    """Find where and why your merges differ from a dialect's; None if they are the same.

    A merge is a pair of bytes, of strings (plain, or in GPT-2's printable form), of ids, or a line
    of a `merges.txt`. `corpus` is a text, documents, or counts. Mistakes are tried on the texts,
    unless these have more than 32 million characters; with counts, pass the `texts`, too.

    >>> print(explain_difference("low lower lowest", [(b"l", b"o"), (b"o", b"w")]))
    Merge 0 (from 0) differs:
      yours     b'l' + b'o'  (counted 3 times)
      expected  b'o' + b'w'  (counted 3 times)
    Both are counted 3 times, and a tie goes to the greatest pair of bytes.
    Your pair would be the best one if a tie went to the smallest pair of ids.
    Your pair would be the best one if a tie went to the smallest pair of bytes.
    Your pair would be the best one if a tie went to the pair that is met first in the corpus.
    """
    training = Training(dialect, pattern, special_tokens)
    counts = corpus
    if not isinstance(counts, Counts):
        documents = [counts] if isinstance(counts, str) else several("corpus", "texts", counts)
        kept: list[str | bytes] = []
        counts = Counts(**training.counting)._with_documents(_keeping(documents, kept))
        texts = kept
    listed = list(several("merges", "pairs or lines", merges))
    vocabulary = train_merges(
        counts, len(listed) + 1, Training(dialect, counts.pattern, special_tokens)
    )
    tokens = vocabulary.tokens
    expected = [(tokens[left], tokens[right]) for left, right in vocabulary.merges]
    yours = _as_bytes(listed, vocabulary)
    rank = 0
    for expected_pair, your_pair in zip(expected, yours, strict=False):
        if expected_pair != your_pair:
            break
        rank += 1
    if rank == len(yours):  # The list ends before training does.
        return None
    first_met = corpus if isinstance(corpus, str) else None
    difference = _explained(rank, yours[rank], vocabulary, counts, first_met)
    if not texts:
        return difference
    cause = mistakes.find_mistake(
        texts, yours, dialect=dialect, pattern=pattern, special_tokens=special_tokens
    )
    return replace(difference, cause=cause)


def _keeping(documents: Iterable[str | bytes], kept: list[str | bytes]) -> Iterator[str | bytes]:
    """Yield documents, and keep them if they are small enough to train on again and again."""
    size = 0
    for document in documents:
        check_type("corpus", document, (str, bytes), "texts, as str or bytes")
        size += len(document)
        if size <= mistakes.LARGEST_TRIED:
            kept.append(document)
        else:
            kept.clear()
        yield document


def _as_bytes(merges: Sequence[Merge], vocabulary: Vocabulary) -> list[BytesPair]:
    """Convert merges of any form to pairs of bytes; of ids, each merge makes the next one."""
    if merges and isinstance(merges[0], str) and merges[0].startswith("#version"):
        merges = merges[1:]
    pairs = [_pair(rank, merge) for rank, merge in enumerate(merges)]
    kinds = {type(part) for pair in pairs for part in pair}
    if len(kinds) > 1 or not kinds <= {bytes, str, int}:
        raise ValueError("merges must be pairs of bytes, of strings or of ids, all of one kind")
    tokens = {token_id: vocabulary.tokens[token_id] for token_id in vocabulary.base_ids}
    next_id = vocabulary.dialect.first_merge_id(len(vocabulary.special_tokens))
    spell: Callable[[Any], bytes] = tokens.__getitem__ if kinds == {int} else bytes
    form = "made of ids that earlier merges make"
    if kinds == {str}:
        spell = str.encode
        form = "text"
        if isinstance(merges[0], str) or _is_printable_form(pairs):
            spell = from_printable
            form = "in GPT-2's printable form"
    spelled: list[BytesPair] = []
    for rank, (left, right) in enumerate(pairs):
        try:
            spelled.append((spell(left), spell(right)))
        except (KeyError, UnicodeEncodeError):
            raise ValueError(
                f"merge {rank} is not {form}: {left!r:.40} and {right!r:.40}"
            ) from None
        tokens[next_id + rank] = b"".join(spelled[-1])
    return spelled


def _pair(rank: int, merge: object) -> tuple[Any, ...]:
    parts = merge.split(" ") if isinstance(merge, str) else merge
    if isinstance(parts, list | tuple) and len(parts) == 2:
        return tuple(parts)
    if isinstance(merge, str):
        raise ValueError(f"merge {rank}: a line holds two tokens and one space, not {merge!r:.80}")
    raise ValueError(
        f"merge {rank} must be a pair of bytes, of strings or of ids, not {merge!r:.80}"
    )


def _is_printable_form(pairs: Iterable[Iterable[str]]) -> bool:
    """Whether strings are in GPT-2's printable form: it has characters outside of Latin-1."""
    characters = {character for pair in pairs for part in pair for character in part}
    stand_ins = {to_printable(bytes([byte])) for byte in range(256)}
    return characters <= stand_ins and any(ord(character) > 0xFF for character in characters)


def _explained(
    rank: int, yours: BytesPair, vocabulary: Vocabulary, counts: Counts, first_met: str | None
) -> Difference:
    words = _words_after(rank, vocabulary, counts, first_met)
    pair_counts = count_pairs(words)
    tokens = vocabulary.tokens
    spelled = {(left, right): (tokens[left], tokens[right]) for left, right in pair_counts}
    your_counts = [count for pair, count in pair_counts.items() if spelled[pair] == yours]
    your_count = max(your_counts, default=0)
    if rank == len(vocabulary.merges):
        reason = "Training ends here: no pair is left in the corpus."
        return Difference(rank, yours, None, your_count, 0, reason)
    best = vocabulary.merges[rank]
    highest = pair_counts[best]
    rule = TIE_RULES[vocabulary.dialect.tie_break]
    if your_count == highest:
        reason = f"Both are counted {highest:,} times, and a tie goes to {rule}."
    elif your_count:
        reason = f"Counted again, the expected pair has {counted(highest - your_count, 'more occurrence')}."
    else:
        reason = "Your pair does not occur in the corpus after the merges before it."
    choices = _choices(words, rule, spelled, in_order=first_met is not None)
    explanations = [sentence for sentence, pair in choices.items() if spelled[pair] == yours]
    return Difference(rank, yours, spelled[best], your_count, highest, reason, explanations)


def _words_after(
    rank: int, vocabulary: Vocabulary, counts: Counts, first_met: str | None
) -> list[tuple[Word, int]]:
    """Return the pretokens as ids after the given merges, with their counts, in the order of the corpus."""
    merge_ids = vocabulary.merge_ids[:rank]
    tokens = {
        token_id: vocabulary.tokens[token_id] for token_id in (*vocabulary.base_ids, *merge_ids)
    }
    prefix = Vocabulary(tokens, vocabulary.merges[:rank], pattern="(?s:.+)", merge_ids=merge_ids)
    pretokens = dict(counts.items())
    if first_met is not None:
        order = dict.fromkeys(Tokenizer(vocabulary).pretokens(first_met))
        pretokens = {word: pretokens[word] for word in order if word in pretokens}
    ids = Tokenizer(prefix).encode_batch(pretokens, special="text")
    return list(zip(map(tuple, ids), pretokens.values(), strict=True))


def _count_pairs_without_overlap(words: Iterable[tuple[Word, int]]) -> Counter[Pair]:
    """Count the pair of `aaa` once, not twice."""
    pair_counts: Counter[Pair] = Counter()
    for word, count in words:
        for token_id, run in groupby(word):
            pair_counts[token_id, token_id] += count * (len(list(run)) // 2)
        for left, right in pairwise(word):
            pair_counts[left, right] += count if left != right else 0
    return pair_counts


def _choices(
    words: Sequence[tuple[Word, int]], rule: str, spelled: dict[Pair, BytesPair], *, in_order: bool
) -> dict[str, Pair]:
    """Return the pairs that other rules, and common mistakes, would choose."""
    ties: dict[str, Callable[[list[Pair]], Pair]] = {}
    for axis, name in TIE_RULES.items():
        ties[name] = partial(best_of_tied, rule=axis, spelled=spelled)
    ties["the greatest pair of ids"] = max
    ties["the greatest joined bytes"] = partial(max, key=lambda pair: b"".join(spelled[pair]))
    if in_order:
        ties["the pair that is met first in the corpus"] = itemgetter(0)
    choose = ties.pop(rule)
    highest = most_frequent(count_pairs(words))
    recounted = {
        "if pairs that overlap (aaa) were counted once": _count_pairs_without_overlap(words),
        "if each distinct pretoken were counted once": count_pairs((word, 1) for word, _ in words),
    }
    choices = {f"if a tie went to {name}": rule(highest) for name, rule in ties.items()}
    for sentence, pair_counts in recounted.items():
        choices[sentence] = choose(most_frequent(pair_counts))
    return choices
