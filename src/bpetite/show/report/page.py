"""Measures in, the report's HTML out: one file that loads nothing and has no script."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any, TypeVar

from bpetite.patterns import pattern_name
from bpetite.show.display import bytes_per_token, visible
from bpetite.show.report.measures import Measures
from bpetite.show.report.plots import Axis, Point, bar_plot, line_plot, named_bars

Row = TypeVar("Row", bound=Sequence[object])

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

_UNUSED_SHOWN = 200


def report_html(name: str, measures: Measures, compared: Sequence[Mapping[str, Any]] = ()) -> str:
    """Return the report of a tokenizer called `name`; `compared` are rows of `bpetite.corpus.compare`."""
    sections = [
        _summary(name, measures),
        _by_source(measures),
        *([_compared(compared)] if compared else []),
        _by_size(measures),
        _lengths(measures),
        _frequencies(measures),
        _unused(measures),
        _growth(measures),
    ]
    style = files("bpetite.show.report").joinpath("style.css").read_text("utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(name)} · bpetite report</title>\n<style>{style}</style>\n</head>\n<body>\n"
        + "\n".join(sections)
        + "\n</body>\n</html>\n"
    )


def _summary(name: str, measures: Measures) -> str:
    tokenizer, total = measures.tokenizer, measures.total
    facts = [
        ("Tokens", f"{tokenizer.vocab_size:,}, of which {len(tokenizer.special_tokens)} special"),
        ("Dialect", tokenizer.dialect.name),
        ("Pattern", pattern_name(tokenizer.pattern) or tokenizer.pattern),
        ("Fingerprint", tokenizer.fingerprint),
        ("Text", f"{total.bytes:,} bytes from {len(measures.sources)} sources"),
        ("Encoded", f"{total.tokens:,} tokens, {total.bytes_per_token:.3f} bytes per token"),
    ]
    rows = "".join(f"<dt>{html.escape(term)}</dt><dd>{html.escape(text)}</dd>" for term, text in facts)
    return f"<h1>{html.escape(name)}</h1>\n<dl>{rows}</dl>"


def _by_source(measures: Measures) -> str:
    rows = [
        (source.name, source.bytes, source.characters, source.tokens, source.bytes_per_token)
        for source in [*measures.sources, measures.total]
    ]
    plot = named_bars("Bytes per token by source", [(row[0], row[4]) for row in rows])
    heading = ("source", "bytes", "characters", "tokens", "bytes per token")
    about = "How much text one token stands for in each source. More is denser."
    return _section("sources", "Compression by source", about, plot, _table(heading, rows, words=True))


def _compared(compared: Sequence[Mapping[str, Any]]) -> str:
    """A row for each source, and three columns for each tokenizer."""
    names = list(dict.fromkeys(row["tokenizer"] for row in compared))
    by_source: dict[str, list[object]] = {}
    for row in compared:
        numbers = [row["tokens"], row["bytes_per_token"], row["tokens_to_first"]]
        by_source.setdefault(row["source"], []).extend(numbers)
    heads = "".join(f'<th scope="colgroup" colspan="3">{html.escape(name)}</th>' for name in names)
    parts = '<th scope="col">tokens</th><th scope="col">bytes per token</th><th scope="col">ratio</th>'
    rows = [
        "<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in (source, *numbers)) + "</tr>"
        for source, numbers in by_source.items()
    ]
    table = (
        f'<div class="scroll"><table class="words"><thead><tr><th></th>{heads}</tr>'
        f'<tr><th scope="col">source</th>{parts * len(names)}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
    about = f"How many tokens each tokenizer needs; the ratio is to {names[0]}. Less is denser."
    return _section("compared", "Beside other tokenizers", about, table, "")


def _by_size(measures: Measures) -> str:
    size = measures.total.bytes
    rows = [(vocab, tokens, bytes_per_token(size, tokens)) for vocab, tokens in measures.tokens_by_size()]
    points: list[Point] = [(vocab, ratio) for vocab, _, ratio in _thinned(rows, 200)]
    x = Axis("vocabulary size", rows[0][0], rows[-1][0], logarithmic=True)
    y = Axis("bytes per token", 0, _highest(ratio for _, ratio in points))
    plot = line_plot("Bytes per token against vocabulary size", x, y, [("", points)])
    heading = ("vocabulary size", "tokens", "bytes per token")
    about = (
        "What every smaller vocabulary, cut from this one, would have given. "
        "Where the line flattens, more tokens buy little."
    )
    table = _table(heading, _thinned(rows, 24))
    return _section("sizes", "Bytes per token by vocabulary size", about, plot, table)


def _lengths(measures: Measures) -> str:
    rows = measures.lengths()
    longest = rows[-1][0]
    x = Axis("bytes in a token", 0.4, longest + 0.6)
    y = Axis("tokens", 0, _highest(count for _, count, _ in rows))
    plot = bar_plot("Tokens by length", x, y, [(length, count) for length, count, _ in rows])
    heading = ("bytes in a token", "tokens", "uses")
    return _section("lengths", "Token lengths", "How long the tokens are.", plot, _table(heading, rows))


def _frequencies(measures: Measures) -> str:
    uses = measures.frequencies()
    rows = _thinned(list(enumerate(uses, 1)), 120)
    x = Axis("place by use", 1, max(len(uses), 2), logarithmic=True)
    y = Axis("uses", 1, max([2, *uses[:1]]), logarithmic=True)
    plot = line_plot("Uses by place", x, y, [("", rows)])
    most = measures.uses.most_common(12)
    shown = [(_shown(measures, token_id), token_id, count) for token_id, count in most]
    tables = _table(("place", "uses"), _thinned(rows, 16)) + _table(
        ("token", "id", "uses"), shown, words=True
    )
    about = "How often each token was used, the most used first, both axes logarithmic."
    return _section("frequencies", "How often tokens are used", about, plot, tables)


def _unused(measures: Measures) -> str:
    unused = measures.unused
    share = 100 * len(unused) / measures.tokenizer.vocab_size
    rows = [(_shown(measures, token_id), token_id) for token_id in unused[:_UNUSED_SHOWN]]
    more = len(unused) - len(rows)
    about = f"{len(unused):,} tokens ({share:.1f} %) were never used on this text."
    if more > 0:
        about += f" The table shows the first {len(rows)}."
    return _section("unused", "Unused tokens", about, "", _table(("token", "id"), rows, words=True))


def _growth(measures: Measures) -> str:
    rows = measures.growth()
    if not rows:
        return _section("growth", "How tokens grow", "There are no merges.", "", "")
    x = Axis("rank", 0, rows[-1][0])
    y = Axis("bytes", 0, _highest(longest for _, _, longest in rows))
    lines: list[tuple[str, Sequence[Point]]] = [
        ("mean length", [(rank, mean) for rank, mean, _ in rows]),
        ("longest so far", [(rank, longest) for rank, _, longest in rows]),
    ]
    plot = line_plot("Length of merged tokens by rank", x, y, lines)
    about = "How long the tokens are that merges make, from the first merge to the last."
    heading = ("up to rank", "mean length", "longest so far")
    return _section("growth", "How tokens grow", about, plot, _table(heading, rows))


def _section(name: str, heading: str, about: str, plot: str, table: str) -> str:
    parts = [
        f'<section id="{name}">',
        f"<h2>{heading}</h2>",
        f'<p class="soft">{html.escape(about)}</p>',
        plot,
    ]
    if table:
        parts.append(f'<details><summary>Numbers</summary><div class="scroll">{table}</div></details>')
    return "\n".join([*parts, "</section>"])


def _table(heading: Sequence[str], rows: Iterable[Sequence[object]], *, words: bool = False) -> str:
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in heading)
    body = "".join("<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>" for row in rows)
    kind = ' class="words"' if words else ""
    return f"<table{kind}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    if isinstance(value, int):
        return f"{value:,}"
    return f'<bdi class="token">{html.escape(str(value))}</bdi>'


def _shown(measures: Measures, token_id: int) -> str:
    text = visible(measures.tokenizer.token_bytes(token_id))
    return text.replace(" ", "·").replace("\n", "↵").replace("\t", "→")


def _highest(values: Iterable[float]) -> float:
    return 1.05 * max(values, default=0) or 1


def _thinned(rows: Sequence[Row], most: int) -> list[Row]:
    """Keep at most `most` rows, evenly spaced on a logarithmic scale, including the first and the last."""
    if len(rows) <= most:
        return list(rows)
    places = {round(math.exp(math.log(len(rows)) * place / (most - 1))) - 1 for place in range(most)}
    return [rows[place] for place in sorted(places)]
