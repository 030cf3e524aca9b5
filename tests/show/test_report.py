"""The report: its numbers against an independent count, its page against what a page may hold."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bpetite import Tokenizer, Vocabulary
from bpetite._encoder import encode_ordinary
from bpetite._internal.types import Special
from bpetite.corpus import Documents
from bpetite.corpus.job import inputs_of
from bpetite.corpus.statistics import tally
from bpetite.show.viewer.page import document, drawn
from bpetite.show.viewer.report import report
from encoders import CORPUS
from test_viewer_page import CONTRASTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TEXTS = {
    "prose": "The dog's lazy, the fox is quick. " * 5 + "Größe 東京<|endoftext|>",
    "code": "def count():\n\treturn 7\n" * 4,
}

PER_TOKEN = ("bytes_per_token", "characters_per_token", "tokens_per_word")
RANKS = [(first, min(first + 8, 163)) for first in range(0, 164, 9)]
"""The first and the last rank of each part of 164 merges."""


def tokenizer(dialect: str = "bpetite") -> Tokenizer:
    return Tokenizer.train_from_iterator([CORPUS], 420, dialect=dialect)


def measured(
    models: Mapping[str, Tokenizer], texts: Mapping[str, str], special: Special = "text"
) -> dict[str, Any]:
    sources = {name: inputs_of(Documents([text])) for name, text in texts.items()}
    by = {"date": "1 March 2031", "version": "1.2.3", "command": "bpetite report <b>"}
    made = report(models, tally(list(models.values()), sources, special=special), by)
    whole: dict[str, Any] = json.loads(json.dumps(made))
    return whole


def inside(page: Path) -> Any:
    """The numbers in the page of a report."""
    content = page.read_text("utf-8")
    return json.loads(content.split('id="inside">')[1].split("</script>")[0])


@contextmanager
def opened(browser: Browser, page: bytes, folder: Path, **options: Any) -> Iterator[Page]:
    """Open a report as a file; it must do nothing wrong and ask nobody for anything."""
    file = folder / "report.html"
    file.write_bytes(page)
    context = browser.new_context(**options)
    shown = context.new_page()
    wrong: list[str] = []
    shown.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    shown.on("console", lambda message: wrong.append(f"console: {message.type}: {message.text}"))
    shown.on("dialog", lambda dialog: wrong.append(f"dialog: {dialog.message}"))
    shown.on("request", lambda request: wrong.append(f"request: {request.url}"))
    shown.goto(file.as_uri())
    shown.wait_for_function("() => !document.querySelector('[aria-busy]')")
    assert wrong.pop(0) == f"request: {file.as_uri()}"
    yield shown
    context.close()
    assert wrong == []


def rows(page: Page, section: str, table: int = 0) -> list[list[str]]:
    """The cells of a table in a section."""
    found = page.locator(f"[data-name={section}] table").nth(table).locator("tbody tr")
    return [row.locator("td").all_text_contents() for row in found.all()]


def texts(page: Page, selector: str) -> list[str]:
    return page.locator(selector).all_text_contents()


def cells(row: dict[str, Any]) -> list[str]:
    """A row of the table of a source."""
    each = [f"{row[name]:.3f}" for name in PER_TOKEN]
    return [row["tokenizer"], f"{row['tokens']:,}", *each, f"{row['tokens_to_first']:.2f}×"]


def number(cell: str) -> int:
    return int(cell.replace(",", ""))


def test_the_numbers_are_those_of_an_independent_count() -> None:
    tok = tokenizer()
    made = measured({"tok.json": tok}, TEXTS)
    vocab = {
        **tok.vocabulary.tokens,
        **{i: text.encode() for text, i in tok.special_tokens.items()},
    }
    rules = vocab, tok.merges, tok.special_tokens
    ids = {name: list(encode_ordinary(text, *rules)) for name, text in TEXTS.items()}
    uses = Counter(token_id for row in ids.values() for token_id in row)
    for (name, text), row in zip(TEXTS.items(), made["rows"], strict=False):
        size, tokens = len(text.encode()), len(ids[name])
        assert (row["source"], row["bytes"], row["characters"]) == (name, size, len(text))
        assert (row["tokens"], row["bytes_per_token"]) == (tokens, size / tokens)
        assert row["characters_per_token"] == len(text) / tokens
        assert row["tokens_per_word"] == tokens / len(text.split())
    assert made["rows"][-1]["tokens"] == uses.total()
    assert made["curves"] == [["tok.json", tok.curve("".join(TEXTS.values()), special="text")]]
    there = Counter(len(token) for token in tok.vocabulary.tokens.values())
    used = Counter(len(vocab[i]) for i in uses.elements() if i in tok.vocabulary.tokens)
    never = Counter(len(token) for i, token in tok.vocabulary.tokens.items() if i not in uses)
    assert made["lengths"] == [
        [size, there[size], never[size], used[size]] for size in sorted(there)
    ]
    ordered = sorted(uses.values(), reverse=True)
    assert made["frequencies"] == [
        ["tok.json", [[place, count] for place, count in enumerate(ordered, 1)]]
    ]
    assert [count for _, _, count in made["most_used"]] == ordered[:12]
    assert {token_id: count for _, token_id, count in made["most_used"]}.items() <= uses.items()
    by_rank = [
        [first, last, sum(256 + i not in uses for i in range(first, last + 1))]
        for first, last in RANKS
    ]
    assert made["unused_by_rank"] == by_rank
    unused = sorted(set(vocab) - set(uses), key=lambda i: (-len(vocab[i]), i))
    assert made["unused"] == len(unused)
    assert made["unused_shown"] == [[drawn(vocab[token_id]), token_id] for token_id in unused[:200]]


def test_the_page_fetches_nothing_and_shows_hostile_names_as_text(
    browser: Browser, tmp_path: Path
) -> None:
    special = "</script><script>alert(1)</script>"
    tok = Tokenizer.train_from_iterator([CORPUS], 300, dialect="tiktoken", special_tokens=[special])
    name = '"><img src=x onerror=alert(2)>'
    made = measured({name: tok}, {name: CORPUS + special * 200}, "parse")
    with opened(browser, document(made), tmp_path) as page:
        shown = page.locator("#report")
        assert shown.locator(":is(script, img, link, iframe, object, a)").count() == 0
        assert shown.locator("h1").inner_text() == name
        [row] = made["rows"]
        size = f"{row['bytes']:,} bytes, {row['characters']:,} characters, {row['words']} words"
        assert page.locator("[data-name=sources] h3").text_content() == f"{name}: {size}"
        assert special in "".join(page.locator("[data-name=frequencies] .chip").all_text_contents())
        policy = (
            page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content") or ""
        )
        assert policy.startswith("default-src 'none'; script-src 'sha256-")


def test_the_page_shows_the_numbers_in_plots_and_tables(browser: Browser, tmp_path: Path) -> None:
    made = measured({"one": tokenizer(), "<b>two</b>": tokenizer("tiktoken").truncate(300)}, TEXTS)
    with opened(browser, document(made), tmp_path) as page:
        assert not page.locator("nav").is_visible()
        for place, source in enumerate(["prose", "code", None]):
            of_source = [row for row in made["rows"] if row["source"] == source]
            assert rows(page, "sources", place) == list(map(cells, of_source))
        total = made["rows"][-2]
        numbers = [f"{total[name]:.2f}" for name in (PER_TOKEN[1], PER_TOKEN[0], PER_TOKEN[2])]
        assert texts(page, ".headline b") == [*numbers, f"{total['vocabulary_used']:.1%}"]
        widths = page.locator(".bars span span").evaluate_all(
            "(bars) => bars.map((bar) => bar.clientWidth)"
        )
        most = max(row["characters_per_token"] for row in made["rows"])
        for row, width in zip(made["rows"], widths, strict=True):
            assert width / max(widths) == pytest.approx(
                row["characters_per_token"] / most, abs=0.01
            )
        assert [list(map(number, row)) for row in rows(page, "lengths")] == made["lengths"]
        for place, (_, curve) in enumerate(made["curves"]):
            assert [[number(row[0]), number(row[1])] for row in rows(page, "sizes", place)] == [
                [row["vocab_size"], row["tokens"]] for row in curve
            ]
        assert texts(page, ".listed li > small") == [str(i) for _, i in made["unused_shown"]]
        assert texts(page, "[data-name=sizes] .legend li") == ["one", "<b>two</b>"]
        assert page.locator("svg polyline:not(.dot)").count() == 4
        for line in page.locator("svg polyline").all():
            points = (line.get_attribute("points") or "").replace(",", " ").split()
            assert all(-1e-9 <= float(part) <= 100 + 1e-9 for part in points)
        assert {"NaN", "Infinity"}.isdisjoint(page.locator("#report").inner_html().split())


def test_the_page_says_when_and_how_it_was_made(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, document(measured({"one": tokenizer()}, {"a": "low"})), tmp_path) as page:
        said = "1 March 2031 · bpetite 1.2.3 · 3 bytes of text in 1 source"
        assert page.locator("#report > p").inner_text() == said
        assert page.locator("#report > pre").inner_text() == "bpetite report <b>"


def test_the_plot_of_lengths_ends_at_what_99_of_100_tokens_have(
    browser: Browser, tmp_path: Path
) -> None:
    tokens = {byte: bytes([byte]) for byte in range(256)} | {
        256: b"ab",
        257: b"abab",
        258: b"abab" * 2,
    }
    tok = Tokenizer(Vocabulary(tokens, [(97, 98), (256, 256), (257, 257)]))
    with opened(browser, document(measured({"tok": tok}, {"a": "abab"})), tmp_path) as page:
        assert page.locator("[data-name=lengths] > p").inner_text() == (
            "How many tokens have each length. The plot ends at 2 bytes, which 99% of the tokens have at "
            "most; the longest has 8."
        )
        columns = page.locator("[data-name=lengths] rect").all()
        heights = [float(column.get_attribute("height") or "") for column in columns]
        # Of one byte and of two, used and not used; the axis ends at 300.
        assert heights == pytest.approx([0, 256 / 3, 0, 1 / 3])
        assert (
            page.locator("[data-name=unused] > p")
            .inner_text()
            .startswith("258 tokens (99.6%) never used")
        )


def test_the_axes_reach_the_top_of_the_plots(browser: Browser, tmp_path: Path) -> None:
    made = measured({"one": tokenizer(), "two": tokenizer("tiktoken")}, TEXTS)
    with opened(browser, document(made), tmp_path) as page:
        for figure in page.locator(".plot").all():
            marks = figure.locator(".across").evaluate_all(
                "(all) => all.map((one) => parseFloat(one.style.bottom))"
            )
            assert max(marks) == pytest.approx(100)
        highest = [
            *page.locator("svg polyline").evaluate_all(
                "(all) => all.map((one) => Math.min(...[...one.points].map((point) => point.y)))"
            ),
            *page.locator("svg rect").evaluate_all(
                "(all) => all.map((one) => one.y.baseVal.value)"
            ),
        ]
        assert min(highest) >= -1e-9


def test_sources_are_compared_with_the_first(browser: Browser, tmp_path: Path) -> None:
    names = ["one", "two"]
    made = measured({"one": tokenizer(), "two": tokenizer("tiktoken").truncate(300)}, TEXTS)
    with opened(browser, document(made), tmp_path) as page:
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        for place, name in enumerate(names):
            of_model = [row for row in made["rows"] if row["tokenizer"] == name]
            first = of_model[0]["characters_per_token"]
            expected = [
                [
                    row["source"],
                    f"{row['characters_per_token']:.3f}",
                    f"{first / row['characters_per_token']:.2f}×",
                ]
                for row in of_model[:-1]
            ]
            assert rows(page, "sources", len(TEXTS) + 1 + place) == expected
            assert f"{first:.2f} (1.00×)" in page.locator(".bars").inner_text()


@pytest.mark.parametrize("width", [360, 800, 1280])
def test_labels_of_plots_have_one_size_and_do_not_touch(
    browser: Browser, width: int, tmp_path: Path
) -> None:
    made = measured({"one": tokenizer(), "two": tokenizer("tiktoken")}, TEXTS)
    ends = [
        {"vocab_size": size, "characters_per_token": each}
        for size, each in ((257, 1.0), (200_000, 5.1))
    ]
    made["curves"] = [("one", ends), ("two", ends)]
    made["frequencies"] = [("one", [(1, 9_000_000), (90_000, 1)])] * 2
    with opened(
        browser, document(made), tmp_path, viewport={"width": width, "height": 800}
    ) as page:
        for figure in page.locator(".plot").all():
            for kind, side, length in (("below", "x", "width"), ("across", "y", "height")):
                labels = figure.locator(f".{kind}")
                found = labels.evaluate_all(
                    """(all) => all.map((one) => {
                        const text = document.createRange();
                        text.selectNodeContents(one);
                        const { x, y, width, height } = text.getBoundingClientRect();
                        return { x, y, width, height, size: getComputedStyle(one).fontSize };
                    })"""
                )
                assert len(found) > 1
                assert {label["size"] for label in found} == {"12px"}
                assert all(
                    label["x"] >= 0 and label["x"] + label["width"] <= width for label in found
                )
                for one, other in pairwise(sorted(found, key=lambda label: label[side])):
                    assert one[side] + one[length] < other[side]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_is_readable_and_fits(
    browser: Browser, scheme: str, width: int, tmp_path: Path
) -> None:
    made = measured({"one": tokenizer(), "two": tokenizer("tiktoken")}, TEXTS)
    size = {"width": width, "height": 800}
    with opened(browser, document(made), tmp_path, viewport=size, color_scheme=scheme) as page:
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert page.evaluate(CONTRASTS) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_nothing_to_measure_is_no_error(browser: Browser, tmp_path: Path) -> None:
    made = measured({"empty": Tokenizer.train("", 256)}, {"nothing": ""})
    with opened(browser, document(made), tmp_path) as page:
        assert rows(page, "sources")[0][:3] == ["empty", "0", "0.000"]
        assert "NaN" not in page.locator("#report").inner_html()


def test_the_command_writes_the_report_and_prints_its_numbers(tmp_path: Path) -> None:
    tok = tokenizer()
    tok.save(tmp_path / "tok.json")
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text, "utf-8")
    command = [
        sys.executable,
        "-m",
        "bpetite",
        "report",
        "tok.json",
        "--input",
        *TEXTS,
        "--output",
        "r.html",
    ]
    done = subprocess.run([*command, "--json"], cwd=tmp_path, capture_output=True, check=True)
    rows = json.loads(done.stdout)["sources"]
    assert [row["tokens"] for row in rows[:-1]] == [
        tok.count(text, special="text") for text in TEXTS.values()
    ]
    found = inside(tmp_path / "r.html")
    assert [row["bytes_per_token"] for row in found["rows"]] == [
        row["bytes_per_token"] for row in rows
    ]
    assert found["made"]["command"] == " ".join(["bpetite", *command[3:-1], "FILE", "--json"])
    curve = json.loads(done.stdout)["sizes"]
    assert (curve[-1]["vocab_size"], curve[-1]["tokens"]) == (
        tok.mergeable_vocab_size,
        rows[-1]["tokens"],
    )
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert again.returncode == 1
    assert b"exists already" in again.stderr
    forced = subprocess.run([*command, "--force"], cwd=tmp_path, capture_output=True, check=True)
    assert b"bytes/token" in forced.stdout


def test_the_command_compares_with_other_tokenizers(tmp_path: Path) -> None:
    models = {"one.json": tokenizer(), "<b>two</b>.json": tokenizer("tiktoken").truncate(300)}
    for name, model in models.items():
        path = tmp_path / name.replace("/", "-")
        model.save(path)
    names = [name.replace("/", "-") for name in models]
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.txt").write_text(text, "utf-8")
    texts = ["prose.txt", "code.txt"]
    command = [
        sys.executable,
        "-m",
        "bpetite",
        "report",
        *names,
        "--input",
        *texts,
        "--output",
        "r.html",
    ]
    done = subprocess.run(
        [*command, "--json", "--quiet"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    made = inside(tmp_path / "r.html")
    assert made["name"] == "one.json"
    found = {(row["source"], row["tokenizer"]): row["tokens"] for row in made["rows"]}
    expected = {
        (f"{source}.txt", name): model.count(text, special="text")
        for source, text in TEXTS.items()
        for name, model in zip(names, models.values(), strict=True)
    }
    sums = {(None, name): sum(n for (_, of), n in expected.items() if of == name) for name in names}
    assert found == expected | sums
    assert json.loads(done.stdout)["compared"] == made["rows"]
    subprocess.run(
        [*command[:4], *command[5:], "--force"], cwd=tmp_path, check=True, capture_output=True
    )
    assert {row["tokenizer"] for row in inside(tmp_path / "r.html")["rows"]} == {names[1]}


REPORT = [sys.executable, "-m", "bpetite", "report", "tok.json", "--input", "a.txt"]


def test_the_date_may_be_given_so_that_the_same_bytes_are_made_again(tmp_path: Path) -> None:
    tokenizer().save(tmp_path / "tok.json")
    (tmp_path / "a.txt").write_text("low")
    given = {**os.environ, "SOURCE_DATE_EPOCH": "86400"}
    for name in ("one.html", "two.html"):
        subprocess.run(
            [*REPORT, "--output", name], cwd=tmp_path, env=given, capture_output=True, check=True
        )
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()
    made = inside(tmp_path / "one.html")["made"]
    assert made["date"] == "2 January 1970"
    assert made["command"] == "bpetite report tok.json --input a.txt --output FILE"
    given["SOURCE_DATE_EPOCH"] = "today"
    command = [*REPORT, "--output", "three.html"]
    done = subprocess.run(
        command, cwd=tmp_path, env=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "SOURCE_DATE_EPOCH must be a time in seconds, not 'today'" in done.stderr


def test_the_date_is_that_of_today(tmp_path: Path) -> None:
    tokenizer().save(tmp_path / "tok.json")
    (tmp_path / "a.txt").write_text("low")
    before = datetime.now(UTC)
    given = {**os.environ, "SOURCE_DATE_EPOCH": ""}
    subprocess.run(
        [*REPORT, "--output=r.html"], cwd=tmp_path, env=given, capture_output=True, check=True
    )
    made = inside(tmp_path / "r.html")["made"]
    assert made["date"] in {f"{day.day} {day:%B %Y}" for day in (before, datetime.now(UTC))}
    assert made["command"].endswith("--output=FILE")
