"""`bpetite inspect`: shows the rules and tokens of a tokenizer, as text or JSON."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterable
from typing import Any

from bpetite._internal.names import recorded
from bpetite.cli.formats import add_one_of_any_format, read_model
from bpetite.cli.options import Commands, add_command, add_json, add_no_color, colours_wanted, json_line
from bpetite.cli.pattern_way import WAYS
from bpetite.patterns import pattern_name
from bpetite.show.display import ShownToken, coloured, plain, visible
from bpetite.show.explain import Explainer
from bpetite.tokenizer import Tokenizer

_EXAMPLES = """
bpetite inspect tok.json
bpetite inspect tok.json --token 300
bpetite inspect tok.json --json
bpetite inspect cl100k_base.tiktoken --pattern cl100k
"""

_LONGEST = 10
_MERGES = 5


def add_to(commands: Commands[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    command = add_command(
        commands,
        "inspect",
        "Show a tokenizer's rules and tokens. With --token, show how one token is built, merge by merge.",
        _EXAMPLES,
    )
    add_one_of_any_format(command)
    command.add_argument("--token", type=int, metavar="ID", help="show how this token is built")
    add_json(command)
    add_no_color(command)
    command.set_defaults(run=run, quiet=True)  # the result includes the assumptions


def run(options: argparse.Namespace) -> bytes:
    """Return information about a tokenizer, or about one token."""
    tokenizer = read_model(options)
    explainer = Explainer(tokenizer.vocabulary)
    if options.token is not None:
        facts = _token_facts(explainer, options.token)
        text = _token_text(explainer, options.token, facts, colours_wanted())
    else:
        facts = _facts(tokenizer, explainer)
        text = _text(recorded(options.model), facts)
    return json_line(facts) if options.json else text.encode("utf-8", "backslashreplace")


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


def _text(name: str, facts: dict[str, Any]) -> str:
    specials = facts["special_tokens"]
    rules = ", ".join(f"{axis.replace('_', ' ')}: {choice}" for axis, choice in facts["rules"].items())
    named = [f"{visible(text.encode())} = {token_id}" for text, token_id in specials.items()]
    sizes = f"{facts['vocab_size']:,} tokens: 256 bytes, {facts['mergeable_vocab_size'] - 256:,} merged, "
    lines = [
        name,
        "",
        f"  dialect      {facts['dialect']}",
        *(f"               {line}" for line in textwrap.wrap(rules, 90, break_on_hyphens=False)),
        f"  pattern      {facts['pattern_name'] or facts['pattern']}",
        f"  cut by       {WAYS[facts['pattern_way']]}",
        f"  size         {sizes}{len(specials)} special; {facts['merges']:,} merges",
        f"  specials     {', '.join(named) or 'none'}",
        f"  fingerprint  {facts['fingerprint']}",
    ]
    if facts["whole_pretoken_first"]:
        lines.append("  note         a pretoken that is itself a token gets that token's id without merging")
    lines += [f"  assumed      {assumption}" for assumption in facts["assumptions"]]
    if facts["trained_with"]:
        trained_with = ", ".join(f"{option} {value}" for option, value in facts["trained_with"].items())
        lines.append(f"  trained with {trained_with}")
    lines += [
        "",
        "Longest tokens",
        *_table(("id", "bytes", "token"), map(_longest_row, facts["longest_tokens"])),
    ]
    heading = ("rank", "id", "merge", "token")
    if facts["first_merges"]:
        lines += ["", "First merges", *_table(heading, map(_merge_row, facts["first_merges"]))]
    if facts["last_merges"]:
        lines += ["", "Last merges", *_table(heading, map(_merge_row, facts["last_merges"]))]
    return "\n".join(lines) + "\n"


def _longest_row(token: dict[str, Any]) -> tuple[str, ...]:
    return str(token["id"]), str(token["length"]), _quoted(token["shown"])


def _merge_row(merge: dict[str, Any]) -> tuple[str, ...]:
    left, right, made = (merge[part]["shown"] for part in ("left", "right", "made"))
    return str(merge["rank"]), str(merge["made"]["id"]), f"{_quoted(left)} + {_quoted(right)}", _quoted(made)


def _quoted(shown: str) -> str:
    """Quote a token, so that its spaces are visible; a very long one is shortened."""
    escaped = shown.replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"' if len(escaped) <= 48 else f'"{escaped[:47]}…"'


def _table(heading: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Align columns; all except the last one or two are numbers."""
    lines = [heading, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    numbers = len(heading) - (2 if len(heading) > 3 else 1)
    return [
        "  "
        + "  ".join(
            cell.rjust(width) if place < numbers else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


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


def _token_text(explainer: Explainer, token_id: int, facts: dict[str, Any], colours: bool) -> str:
    paint = coloured if colours else plain
    kind = "a special token, matched literally in the text"
    if not facts["special"]:
        kind = "no merge makes it" if facts["rank"] is None else f"made by merge {facts['rank']:,}"
    lines = [f"token {token_id}  {_quoted(facts['shown'])}  {facts['length']} bytes: {facts['bytes']}", kind]
    if facts["steps"]:
        states = [facts["start"], *(step["ids"] for step in facts["steps"])]
        shown = [paint([ShownToken(part, explainer.token(part)) for part in state]) for state in states]
        ranks = ["", *(f"{step['rank']:,}" for step in facts["steps"])]
        width = max(4, *map(len, ranks))
        lines += ["", f"{'rank':>{width}}  after the merge"]
        lines += [f"{rank:>{width}}  {state}" for rank, state in zip(ranks, shown, strict=True)]
    return "\n".join(lines).rstrip(" ") + "\n"
