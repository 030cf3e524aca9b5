"""The report: its numbers against an independent count, its page against what a page may hold."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bpetite import Tokenizer, Vocabulary
from bpetite._encoder import encode
from bpetite.corpus import Documents
from bpetite.corpus.statistics import tally
from bpetite.show.report.measures import Measures, measures_of
from bpetite.show.report.page import report_html
from encoders import CORPUS

TEXTS = {
    "prose": "The dog's lazy, the fox is quick. " * 5 + "Größe 東京<|endoftext|>",
    "code": "def count():\n\treturn 7\n" * 4,
}


def tokenizer(dialect: str = "bpetite") -> Tokenizer:
    return Tokenizer.train_from_iterator([CORPUS], 420, dialect=dialect)


def measure(tok: Tokenizer, texts: Mapping[str, str]) -> Measures:
    return measures_of(tok, tally([tok], {name: [Documents([text])] for name, text in texts.items()}))


class Page(HTMLParser):
    """The tables of a page, by section, and everything in it that could load or run something."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[list[str]]]] = {}
        self.tags: Counter[str] = Counter()
        self.addresses: list[str] = []
        self.text = ""
        self._section = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        values = dict(attributes)
        self.addresses += [name for name in values if name in ("src", "href", "action", "data")]
        self.addresses += [name for name in values if name.startswith("on")]
        if tag == "section":
            self._section = values["id"] or ""
            self.tables[self._section] = []
        elif tag == "table":
            self.tables[self._section].append([])
        elif tag == "tr":
            self.tables[self._section][-1].append([])
        elif tag in ("td", "th"):
            self.tables[self._section][-1][-1].append("")

    def handle_data(self, data: str) -> None:
        self.text += data
        rows = self.tables.get(self._section, [])
        if rows and rows[-1] and rows[-1][-1]:
            rows[-1][-1][-1] += data

    def rows(self, section: str, table: int = 0) -> list[list[str]]:
        return self.tables[section][table][1:]


def number(cell: str) -> int:
    return int(cell.replace(",", ""))


def test_the_numbers_are_those_of_an_independent_count() -> None:
    tok = tokenizer()
    page = Page(report_html("tok.json", measure(tok, TEXTS)))
    vocab = {**tok.vocabulary.tokens, **{i: text.encode() for text, i in tok.special_tokens.items()}}
    ids = {name: encode(text, vocab, tok.merges, tok.special_tokens) for name, text in TEXTS.items()}
    uses = Counter(token_id for row in ids.values() for token_id in row)
    for (name, text), row in zip(TEXTS.items(), page.rows("sources"), strict=False):
        size = len(text.encode())
        assert row[0] == name
        assert list(map(number, row[1:4])) == [size, len(text), len(ids[name])]
        assert row[4] == f"{size / len(ids[name]):.4f}"
    assert number(page.rows("sources")[-1][3]) == uses.total()
    lengths = Counter(len(token) for token in tok.vocabulary.tokens.values())
    used = Counter(len(vocab[i]) for i in uses.elements() if i in tok.vocabulary.tokens)
    assert [tuple(map(number, row)) for row in page.rows("lengths")] == [
        (length, lengths[length], used[length]) for length in sorted(lengths)
    ]
    assert number(page.rows("frequencies", 0)[0][1]) == max(uses.values())
    assert {number(row[1]): number(row[2]) for row in page.rows("frequencies", 1)}.items() <= uses.items()
    unused = sorted(set(vocab) - set(uses))
    assert [number(row[1]) for row in page.rows("unused")] == unused[:200]
    assert f"{len(unused):,} tokens" in page.text
    made = [len(vocab[token_id]) for token_id in tok.vocabulary.merge_ids]
    assert number(page.rows("growth")[-1][0]) == len(made)
    assert number(page.rows("growth")[-1][2]) == max(made)


@pytest.mark.parametrize("dialect", ["bpetite", "cs336", "huggingface", "tiktoken"])
def test_what_smaller_vocabularies_give_is_what_they_give(dialect: str) -> None:
    tok = tokenizer(dialect)
    rows = measure(tok, TEXTS).tokens_by_size()
    specials = len(tok.special_tokens)
    assert [size for size, _ in rows] == list(range(256 + specials, tok.vocab_size + 1))
    for size, tokens in rows:
        smaller = tok.truncate(size if dialect != "bpetite" else size - specials)
        assert tokens == sum(map(smaller.count, TEXTS.values())), size


def test_smaller_vocabularies_where_several_merges_make_a_token() -> None:
    tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"bc", 257: b"ab", 258: b"abc"}
    merges = [(98, 99), (97, 98), (257, 99), (97, 256)]
    text = "abc abcd ab bc abcabc xabcd"
    rows = measure(Tokenizer(Vocabulary(tokens, merges)), {"text": text}).tokens_by_size()
    found = [tokens for _, tokens in rows]
    assert found == [
        len(text),
        *(Tokenizer(Vocabulary(*made(merges[:kept]))).count(text) for kept in (1, 2, 3, 4)),
    ]


def made(merges: list[tuple[int, int]]) -> tuple[dict[int, bytes], list[tuple[int, int]]]:
    """The tokens that merges make; several may have the same bytes."""
    tokens = {byte: bytes([byte]) for byte in range(256)}
    ids: dict[bytes, int] = {}
    for left, right in merges:
        token = tokens[left] + tokens[right]
        tokens[ids.setdefault(token, len(tokens))] = token
    return tokens, merges


def test_the_page_fetches_nothing_runs_nothing_and_shows_hostile_names_as_text() -> None:
    special = "<script>alert(1)</script>"
    tok = Tokenizer.train_from_iterator([CORPUS], 300, dialect="tiktoken", special_tokens=[special])
    name = '"><img src=x onerror=alert(2)>'
    page = Page(report_html(name, measure(tok, {name: CORPUS + special * 200})))
    assert page.addresses == []
    assert not {"script", "img", "link", "iframe", "object", "a"} & set(page.tags)
    assert page.tags["svg"] == 5
    assert name in page.text
    assert special in page.text


def test_every_plot_has_its_numbers_in_a_table() -> None:
    measures = measure(tokenizer(), TEXTS)
    sections = re.findall(r"<section.*?</section>", report_html("tok", measures), re.DOTALL)
    assert len(sections) == 6
    for section in sections:
        if "<svg" in section:
            assert "<table" in section
        assert "nan" not in section
        assert "inf" not in section


def test_nothing_to_measure_is_no_error() -> None:
    empty = Tokenizer.train("", 256)
    page = Page(report_html("empty", measure(empty, {"nothing": ""})))
    assert page.rows("sources")[0][:4] == ["nothing", "0", "0", "0"]


def test_the_command_writes_the_report_and_prints_its_numbers(tmp_path: Path) -> None:
    tok = tokenizer()
    tok.save(tmp_path / "tok.json")
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text, "utf-8")
    command = [sys.executable, "-m", "bpetite", "report", "tok.json", "--input", *TEXTS, "--output", "r.html"]
    done = subprocess.run([*command, "--json"], cwd=tmp_path, capture_output=True, check=True)
    rows = json.loads(done.stdout)["sources"]
    assert [row["tokens"] for row in rows[:-1]] == [tok.count(text) for text in TEXTS.values()]
    assert "prose" in Page((tmp_path / "r.html").read_text("utf-8")).text
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert again.returncode == 1
    assert b"exists already" in again.stderr
    forced = subprocess.run([*command, "--force"], cwd=tmp_path, capture_output=True, check=True)
    assert b"bytes per token" in forced.stdout


def test_the_command_compares_with_other_tokenizers(tmp_path: Path) -> None:
    models = {"one.json": tokenizer(), "<b>two</b>.json": tokenizer("tiktoken").truncate(300)}
    for name, model in models.items():
        path = tmp_path / name.replace("/", "-")
        model.save(path)
    names = [name.replace("/", "-") for name in models]
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.txt").write_text(text, "utf-8")
    texts = ["prose.txt", "code.txt"]
    command = [sys.executable, "-m", "bpetite", "report", *names, "--input", *texts, "--output", "r.html"]
    done = subprocess.run(
        [*command, "--json", "--quiet"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    page = Page((tmp_path / "r.html").read_text("utf-8"))
    (table,) = page.tables["compared"]
    assert table[0] == ["", *names]
    assert table[1] == ["source", *["tokens", "bytes per token", "ratio"] * 2]
    sums = [0, 0]
    for (source, *numbers), text in zip(table[2:], TEXTS.values(), strict=False):
        counts = [model.count(text) for model in models.values()]
        sums = [total + count for total, count in zip(sums, counts, strict=True)]
        size = len(text.encode())
        assert [source.removesuffix(".txt")] == [name for name, known in TEXTS.items() if known == text]
        assert numbers == [
            cell
            for count in counts
            for cell in (f"{count:,}", f"{size / count:.4f}", f"{count / counts[0]:.4f}")
        ]
    assert [table[-1][0], table[-1][1], table[-1][4]] == ["total", *(f"{total:,}" for total in sums)]
    rows = json.loads(done.stdout)["compared"]
    assert [row["tokens"] for row in rows[-2:]] == sums
    assert page.tags["b"] == 0
    alone = subprocess.run(
        [*command[:4], *command[5:], "--force"], cwd=tmp_path, check=True, capture_output=True
    )
    assert b"compared" not in (tmp_path / "r.html").read_bytes() + alone.stdout
