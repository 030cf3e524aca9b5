"""Show a tokenizer's rules and tokens. With --token, show how one token is built.

examples:
  bpetite inspect tok.json
  bpetite inspect tok.json --token 300
  bpetite inspect tok.json --token ' the'
  bpetite inspect tok.json --json
  bpetite inspect cl100k_base.tiktoken --pattern cl100k
"""

import contextlib
import json
import textwrap
from collections.abc import Iterable
from typing import Any

from bpetite._internal.arguments import on_command_line
from bpetite._internal.integers import counted
from bpetite._internal.names import recorded
from bpetite.cli import shared
from bpetite.cli.formats import add_models, read_model
from bpetite.cli.output import WAYS, described, painted, table
from bpetite.encoding.display import ShownToken, visible
from bpetite.encoding.explain import Explainer
from bpetite.patterns import pattern_name
from bpetite.tokenizer import Tokenizer
from bpetite.vocabulary import Vocabulary

_LONGEST = 10
_MERGES = 5
_NAMED = 8
_WIDEST = 48
_IN_PAIRS = 28
_PATTERN = 45
_LINE = 66
_LONGER = 5


def declare(command: shared.Parser) -> None:
    """Declare the options."""
    add_models(command)
    built = "show how this token is built: its id, or its text"
    command.add_argument("--token", type=shared.text_argument, metavar="TOKEN", help=built)
    command.set_defaults(quiet=True)  # the result includes the assumptions


def run(options: shared.Options) -> shared.Result:
    """Return information about a tokenizer, or about one token."""
    tokenizer = read_model(options)
    explainer = Explainer(tokenizer.vocabulary)
    if options.token is not None:
        facts = _token_facts(explainer, _id_of(tokenizer, options.token))
        return facts if options.json else _token_text(explainer, facts)
    facts = _facts(tokenizer, explainer)
    if options.json:
        return facts
    return [recorded(options.models[0]), "", *_text(facts, tokenizer.vocabulary.size_in_words)]


def _id_of(tokenizer: Tokenizer, token: str) -> int:
    """Return the id of a token, which is its number or its text."""
    if token.isascii() and token.isdigit():
        return int(token)
    if token in tokenizer.special_tokens:
        return tokenizer.special_tokens[token]
    with contextlib.suppress(KeyError):
        return tokenizer.token_id(token)
    parts = " ".join(map(str, tokenizer.encode(token, add_special_tokens=False)))
    raise ValueError(
        f"--token: {token!r} is not one of the {tokenizer.vocab_size:,} tokens; it is encoded as {parts}"
    )


def _facts(tokenizer: Tokenizer, explainer: Explainer) -> dict[str, Any]:
    vocabulary = tokenizer.vocabulary
    tokens = vocabulary.tokens
    longest = sorted(tokens, key=lambda token_id: (-len(tokens[token_id]), token_id))
    ranks = range(len(vocabulary.merges))
    return {
        "dialect": tokenizer.dialect.name,
        "rules": tokenizer.dialect.to_dict(),
        "pattern_name": pattern_name(tokenizer.pattern),
        "pattern": tokenizer.pattern,
        "pattern_way": tokenizer.pattern_way,
        "vocab_size": tokenizer.vocab_size,
        "mergeable_vocab_size": tokenizer.mergeable_vocab_size,
        "kinds": _kinds(vocabulary),
        "merges": len(vocabulary.merges),
        "special_tokens": dict(vocabulary.special_tokens),
        "whole_pretoken_first": vocabulary.whole_pretoken_first,
        "word_end": vocabulary.word_end,
        "word_start": vocabulary.word_start,
        "trained_with": dict(vocabulary.trained_with),
        "fingerprint": tokenizer.fingerprint,
        "assumptions": list(tokenizer.assumptions),
        "longest_tokens": [_token(explainer, token_id) for token_id in longest[:_LONGEST]],
        "first_merges": [_merge(explainer, rank) for rank in ranks[:_MERGES]],
        "last_merges": [_merge(explainer, rank) for rank in ranks[_MERGES:][-_MERGES:]],
    }


def _kinds(vocabulary: Vocabulary) -> dict[str, int]:
    """Count the tokens of each kind."""
    ones = {token_id for token_id, token in vocabulary.tokens.items() if len(token) == 1}
    kinds = {
        "bytes": len(ones),
        "merged": len(set(vocabulary.merge_ids) - ones - set(vocabulary.provisional)),
        "special": len(vocabulary.special_tokens),
    }
    if vocabulary.decode_only:
        kinds["only decoded"] = len(vocabulary.decode_only)
    return kinds


def _token(explainer: Explainer, token_id: int) -> dict[str, Any]:
    token = explainer.tokens[token_id]
    return {
        "id": token_id,
        "bytes": token.hex(" "),
        "length": len(token),
        "shown": visible(token),
    }


def _merge(explainer: Explainer, rank: int) -> dict[str, Any]:
    vocabulary = explainer.vocabulary
    left, right = vocabulary.merges[rank]
    return {
        "rank": rank,
        "left": _token(explainer, left),
        "right": _token(explainer, right),
        "made": _token(explainer, vocabulary.merge_ids[rank]),
    }


def _text(facts: dict[str, Any], size_in_words: str) -> list[str]:
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in facts["kinds"].items())
    at_ends = (
        f"tokens that end a pretoken are others, decoded with {facts['word_end']!r} behind them"
    )
    within = f"tokens within a pretoken are others, named with {facts['word_start']!r} before them"
    as_whole = "a pretoken that is itself a token gets that token's id without merging"
    shortened = _cut(str(facts["pattern"]), _PATTERN, " (--json has all)")
    specials = {
        visible(text.encode()): token_id for text, token_id in facts["special_tokens"].items()
    }
    rows = [
        ("dialect", facts["dialect"]),
        ("rules", _some(facts["rules"])),
        ("pattern", facts["pattern_name"] or shortened),
        ("cut by", WAYS[facts["pattern_way"]]),
        ("size", size_in_words),
        ("kinds", f"{kinds}; {facts['merges']:,} merges"),
        ("specials", _some(specials)),
        ("fingerprint", facts["fingerprint"]),
        ("note", as_whole if facts["whole_pretoken_first"] else ""),
        ("note", at_ends if facts["word_end"] is not None else ""),
        ("note", within if facts["word_start"] is not None else ""),
        *(("note", on_command_line(assumption)) for assumption in facts["assumptions"]),
        ("trained with", _some(facts["trained_with"])),
    ]
    tokens = facts["longest_tokens"]
    longest = [(str(token["id"]), str(token["length"]), _quoted(token)) for token in tokens]
    merges = [("rank", "id", "merge")]
    for merge in facts["first_merges"] + facts["last_merges"]:
        left = _quoted(merge["left"], _IN_PAIRS)
        right = _quoted(merge["right"], _IN_PAIRS)
        merges.append((str(merge["rank"]), str(merge["made"]["id"]), f"{left} + {right}"))
    return [
        *described([(f"  {name}", fact) for name, fact in rows if fact]),
        "",
        "Longest tokens",
        *table([("id", "bytes", "token"), *longest], left=[2]),
        "",
        "First and last merges",
        *table(merges, left=[2]),
    ]


def _some(values: dict[str, object]) -> str:
    """Name the first values, and how many there are more."""
    parts = [f"{name}: {value}" for name, value in values.items()]
    more = len(parts) - _NAMED
    if more > 0:
        parts[_NAMED:] = [f"and {more:,} more (--json has all)"]
    return ", ".join(parts)


def _quoted(token: dict[str, Any], most: int = _WIDEST) -> str:
    """Quote a token, so that its spaces are visible."""
    return json.dumps(_cut(token["shown"], most), ensure_ascii=False)


def _cut(text: str, most: int = _WIDEST, more: str = "") -> str:
    """Shorten a long text, so that a line of it fits 80 columns."""
    return text if len(text) <= most else f"{text[:most]}…{more}"


def _token_facts(explainer: Explainer, token_id: int) -> dict[str, Any]:
    part = explainer.part(token_id)
    special = token_id in explainer.special_ids
    pretoken = b"" if special else part.token  # A special token has no steps.
    return {
        **_token(explainer, token_id),
        "special": special,
        "rank": part.rank,
        "parts": part.pair,
        "part_of": _longer(explainer, token_id),
        "start": list(explainer.start(pretoken)),
        "steps": [step._asdict() for step in explainer.steps(pretoken)],
    }


def _token_text(explainer: Explainer, facts: dict[str, Any]) -> list[str]:
    if facts["special"]:
        kind = "a special token, matched literally in the text"
    elif facts["rank"] is None:
        kind = "no merge makes it"
    else:
        kind = f"made by merge {facts['rank']:,}"
    shown = [
        f"token {facts['id']}  {_quoted(facts)}",
        f"{counted(facts['length'], 'byte')}: {_cut(facts['bytes'])}",
        kind,
    ]
    if longer := facts["part_of"]:
        first = [_quoted(_token(explainer, token_id), _IN_PAIRS) for token_id in longer[:_LONGER]]
        sentence = f"part of {counted(len(longer), 'longer token')}: {'  '.join(first)}"
        shown += textwrap.wrap(sentence, 80)
    if facts["steps"]:
        shown += ["", f"{'rank':>8}  after the merge"]
        for step in [{"rank": "", "ids": facts["start"]}, *facts["steps"]]:
            shown.append(f"{step['rank']:>8}  {_in_line(explainer, step['ids'])}")
    return shown


def _longer(explainer: Explainer, token_id: int) -> list[int]:
    """Return the tokens that merges make of this one and another, in the order of the merges."""
    vocabulary = explainer.vocabulary
    merges = zip(vocabulary.merges, vocabulary.merge_ids, strict=True)
    return list(dict.fromkeys(longer for pair, longer in merges if token_id in pair))


def _in_line(explainer: Explainer, ids: Iterable[int]) -> str:
    """Return the tokens of a pretoken with their boundaries; what is too long for a line is left out."""
    tokens = []
    room = _LINE
    for token_id in ids:
        token = explainer.tokens[token_id]
        tokens.append(ShownToken(token_id, token[: max(room, 0)]))
        room -= len(token) + 1
        if room < 0:
            return f"{painted(tokens)}…"
    return painted(tokens)
