"""Learning further tokens for a vocabulary, from words that its own encoder made. This is the specification.

A word is the list of ids that the encoder gives a counted pretoken. New merges rank behind all
others; so the new encoding of a pretoken is the old one with the new merges applied, whatever the
order of the old merges.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping

from bpetite._constants import Pair
from bpetite._trainer import Word, _apply_merge_to_words, _count_pairs, _select_best_pair
from bpetite.dialect import Dialect


def extend(
    words: Mapping[Word, int],
    tokens: Mapping[int, bytes],
    new_ids: Iterable[int],
    *,
    rules: Dialect | None = None,
    apart: Collection[int] = (),
    taken: Collection[bytes] = (),
    allows: Callable[[bytes], bool] = bool,
) -> list[tuple[Pair, int]]:
    """Return the pair and the id of each new merge, one for each new id as long as pairs are left.

    Tokens that are `apart`, and ids that are no tokens, are joined with nothing. A pair is only
    merged if its bytes are no token, not `taken`, and allowed by all other conditions.

    >>> tokens = {0: b"a", 1: b"b", 2: b"ab"}
    >>> extend({(2, 0): 3, (0, 1): 5, (2, 2): 1}, tokens, [7, 9])
    [((2, 0), 7), ((2, 2), 9)]
    """
    tokens = dict(tokens)
    joined = {id_: token for id_, token in tokens.items() if id_ not in apart}
    used = {*tokens.values(), *taken}
    words = _runs(words, joined)
    merges = []
    for new_id in new_ids:
        candidates: Counter[Pair] = Counter()
        for (left, right), count in _count_pairs(words).items():
            token = tokens[left] + tokens[right]
            if token not in used and allows(token):
                candidates[left, right] = count
        if not candidates:
            break
        left, right = _select_best_pair(candidates, rules, tokens)
        tokens[new_id] = tokens[left] + tokens[right]
        used.add(tokens[new_id])
        words = _apply_merge_to_words(words, (left, right), new_id)
        merges.append(((left, right), new_id))
    return merges


def _runs(words: Mapping[Word, int], joined: Collection[int]) -> dict[Word, int]:
    """Cut words where ids are joined with nothing.

    >>> _runs({(1, 2, 9, 3, 4): 2, (1, 2): 1}, {1, 2, 3, 4})
    {(1, 2): 3, (3, 4): 2}
    """
    runs: Counter[Word] = Counter()
    for word, count in words.items():
        run: Word = ()
        for token_id in word:
            if token_id in joined:
                run = (*run, token_id)
            else:
                runs[run] += count
                run = ()
        runs[run] += count
    return {run: count for run, count in runs.items() if len(run) > 1}
