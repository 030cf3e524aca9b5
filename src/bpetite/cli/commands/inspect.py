"""`bpetite inspect`: shows the rules and tokens of a tokenizer, as text or JSON.

The text is made from the same facts that the JSON holds.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Collection, Sequence
from typing import Any

from bpetite._internal.names import recorded
from bpetite.cli.formats import add_model, read_model
from bpetite.cli.options import add_shared, colours_wanted, json_line
from bpetite.cli.pattern_way import WAYS
from bpetite.cli.text import columns, lines
from bpetite.encoding.display import ShownToken, coloured, plain, visible
from bpetite.patterns import pattern_name
from bpetite.show.explain import Explainer
from bpetite.tokenizer import Tokenizer

ABOUT = "Show a tokenizer's rules and tokens. With --token, show how one token is built, merge by merge."
EXAMPLES = """
bpetite inspect tok.json
bpetite inspect tok.json --token 300
bpetite inspect tok.json --json
bpetite inspect cl100k_base.tiktoken --pattern cl100k
"""

_LONGEST = 10
_MERGES = 5


def declare(command: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_model(command, "model")
    command.add_argument("--token", type=int, metavar="ID", help="show how this token is built")
    add_shared(command, "--json", "--no-color")
    command.set_defaults(quiet=True)  # the result includes the assumptions


def run(options: argparse.Namespace) -> bytes:
    """Return information about a tokenizer, or about one token."""
    tokenizer = read_model(options)
    explainer = Explainer(tokenizer.vocabulary)
    if options.token is not None:
        facts = _token_facts(explainer, options.token)
        return json_line(facts) if options.json else lines(_token_text(explainer, facts))
    facts = _facts(tokenizer, explainer)
    return json_line(facts) if options.json else lines([recorded(options.model), "", *_text(facts)])


def _facts(tokenizer: Tokenizer, explainer: Explainer) -> dict[str, Any]:
    vocabulary = tokenizer.vocabulary
    longest = sorted(vocabulary.tokens, key=lambda token_id: (-len(vocabulary.tokens[token_id]), token_id))
    ranks = range(len(vocabulary.merges))
    return {
        "dialect": tokenizer.dialect.name,
        "rules": tokenizer.dialect.to_dict(),
        "pattern_name": pattern_name(tokenizer.pattern),
        "pattern": tokenizer.pattern,
        "pattern_way": tokenizer.pattern_way,
        "vocab_size": tokenizer.vocab_size,
        "mergeable_vocab_size": tokenizer.mergeable_vocab_size,
        "merges": len(vocabulary.merges),
        "special_tokens": dict(vocabulary.special_tokens),
        "whole_pretoken_first": vocabulary.whole_pretoken_first,
        "trained_with": dict(vocabulary.trained_with),
        "fingerprint": tokenizer.fingerprint,
        "assumptions": list(tokenizer.assumptions),
        "longest_tokens": [_token(explainer, token_id) for token_id in longest[:_LONGEST]],
        "first_merges": [_merge(explainer, rank) for rank in ranks[:_MERGES]],
        "last_merges": [_merge(explainer, rank) for rank in ranks[_MERGES:][-_MERGES:]],
    }


def _token(explainer: Explainer, token_id: int) -> dict[str, Any]:
    token = explainer.token(token_id)
    return {"id": token_id, "bytes": token.hex(" "), "length": len(token), "shown": visible(token)}


def _merge(explainer: Explainer, rank: int) -> dict[str, Any]:
    left, right = explainer.vocabulary.merges[rank]
    made = _token(explainer, explainer.vocabulary.merge_ids[rank])
    return {"rank": rank, "left": _token(explainer, left), "right": _token(explainer, right), "made": made}


def _text(facts: dict[str, Any]) -> list[str]:
    specials = facts["special_tokens"]
    rules = ", ".join(f"{axis.replace('_', ' ')}: {choice}" for axis, choice in facts["rules"].items())
    named = [f"{visible(text.encode())} = {token_id}" for text, token_id in specials.items()]
    sizes = f"{facts['vocab_size']:,} tokens: 256 bytes, {facts['mergeable_vocab_size'] - 256:,} merged, "
    said = [
        ("dialect", facts["dialect"]),
        *(("", line) for line in textwrap.wrap(rules, 90, break_on_hyphens=False)),
        ("pattern", facts["pattern_name"] or facts["pattern"]),
        ("cut by", WAYS[facts["pattern_way"]]),
        ("size", f"{sizes}{len(specials)} special; {facts['merges']:,} merges"),
        ("specials", ", ".join(named) or "none"),
        ("fingerprint", facts["fingerprint"]),
    ]
    if facts["whole_pretoken_first"]:
        said.append(("note", "a pretoken that is itself a token gets that token's id without merging"))
    said += [("assumed", assumption) for assumption in facts["assumptions"]]
    if facts["trained_with"]:
        options = ", ".join(f"{option} {value}" for option, value in facts["trained_with"].items())
        said.append(("trained with", options))
    longest = [(str(one["id"]), str(one["length"]), _quoted(one)) for one in facts["longest_tokens"]]
    shown = [f"  {name:<12} {fact}" for name, fact in said]
    shown += ["", "Longest tokens", *_table([("id", "bytes", "token"), *longest], left=[2])]
    for name in ("first", "last"):
        rows = [
            (str(merge["rank"]), str(merge["made"]["id"]), _pair(merge), _quoted(merge["made"]))
            for merge in facts[f"{name}_merges"]
        ]
        if rows:
            heading = ("rank", "id", "merge", "token")
            shown += ["", f"{name.title()} merges", *_table([heading, *rows], left=[2, 3])]
    return shown


def _table(rows: Sequence[tuple[str, ...]], left: Collection[int]) -> list[str]:
    return [f"  {row}" for row in columns(rows, left)]


def _pair(merge: dict[str, Any]) -> str:
    return f"{_quoted(merge['left'])} + {_quoted(merge['right'])}"


def _quoted(token: dict[str, Any]) -> str:
    """Quote a token, so that its spaces are visible; a very long one is shortened."""
    escaped = token["shown"].replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"' if len(escaped) <= 48 else f'"{escaped[:47]}…"'


def _token_facts(explainer: Explainer, token_id: int) -> dict[str, Any]:
    part = explainer.part(token_id)
    special = explainer.is_special(token_id)
    return {
        **_token(explainer, token_id),
        "special": special,
        "rank": part.rank,
        "parts": part.pair,
        "start": [] if special else list(explainer.start(part.token)),
        "steps": [] if special else [vars(step) for step in explainer.steps(part.token)],
    }


def _token_text(explainer: Explainer, facts: dict[str, Any]) -> list[str]:
    paint = coloured if colours_wanted() else plain
    kind = "a special token, matched literally in the text"
    if not facts["special"]:
        kind = "no merge makes it" if facts["rank"] is None else f"made by merge {facts['rank']:,}"
    shown = [f"token {facts['id']}  {_quoted(facts)}  {facts['length']} bytes: {facts['bytes']}", kind]
    if facts["steps"]:
        ranks = ["", *(f"{step['rank']:,}" for step in facts["steps"])]
        states = [facts["start"], *(step["ids"] for step in facts["steps"])]
        after = [paint([ShownToken(part, explainer.token(part)) for part in state]) for state in states]
        rows = zip(["rank", *ranks], ["after the merge", *after], strict=True)
        shown += ["", *(f"{rank:>8}  {state}" for rank, state in rows)]
    return shown
