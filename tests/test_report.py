"""The report: its numbers against an independent count, its page against what a page may hold."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bpetite import Tokenizer
from bpetite._encoder import encode
from bpetite.corpus import Documents
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


def tokenizer(dialect: str = "bpetite") -> Tokenizer:
    return Tokenizer.train_from_iterator([CORPUS], 420, dialect=dialect)


def measured(models: Mapping[str, Tokenizer], texts: Mapping[str, str]) -> dict[str, Any]:
    sources = {name: [Documents([text])] for name, text in texts.items()}
    made = report(models, tally(list(models.values()), sources))
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


def number(cell: str) -> int:
    return int(cell.replace(",", ""))


def test_the_numbers_are_those_of_an_independent_count() -> None:
    tok = tokenizer()
    made = measured({"tok.json": tok}, TEXTS)
    vocab = {**tok.vocabulary.tokens, **{i: text.encode() for text, i in tok.special_tokens.items()}}
    ids = {name: encode(text, vocab, tok.merges, tok.special_tokens) for name, text in TEXTS.items()}
    uses = Counter(token_id for row in ids.values() for token_id in row)
    for (name, text), row in zip(TEXTS.items(), made["sources"], strict=False):
        size = len(text.encode())
        assert list(row.values()) == [name, size, len(text), len(ids[name]), size / len(ids[name])]
    assert made["sources"][-1]["tokens"] == uses.total()
    lengths = Counter(len(token) for token in tok.vocabulary.tokens.values())
    used = Counter(len(vocab[i]) for i in uses.elements() if i in tok.vocabulary.tokens)
    assert made["lengths"] == [[length, lengths[length], used[length]] for length in sorted(lengths)]
    ordered = sorted(uses.values(), reverse=True)
    assert made["frequencies"] == [[place, count] for place, count in enumerate(ordered, 1)]
    assert [count for _, _, count in made["most_used"]] == ordered[:12]
    assert {token_id: count for _, token_id, count in made["most_used"]}.items() <= uses.items()
    unused = sorted(set(vocab) - set(uses))
    assert made["unused"] == len(unused)
    assert made["unused_shown"] == [[drawn(vocab[token_id]), token_id] for token_id in unused[:200]]


def test_the_page_fetches_nothing_and_shows_hostile_names_as_text(browser: Browser, tmp_path: Path) -> None:
    special = "</script><script>alert(1)</script>"
    tok = Tokenizer.train_from_iterator([CORPUS], 300, dialect="tiktoken", special_tokens=[special])
    name = '"><img src=x onerror=alert(2)>'
    made = measured({name: tok}, {name: CORPUS + special * 200})
    with opened(browser, document(made), tmp_path) as page:
        shown = page.locator("#report")
        assert shown.locator(":is(script, img, link, iframe, object, a)").count() == 0
        assert shown.locator("h1").inner_text() == name
        assert rows(page, "sources")[0][0] == name
        assert special in "".join(page.locator("[data-name=frequencies] .chip").all_text_contents())
        policy = page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content") or ""
        assert policy.startswith("default-src 'none'; script-src 'sha256-")


def test_the_page_shows_the_numbers_in_plots_and_tables(browser: Browser, tmp_path: Path) -> None:
    models = {"one": tokenizer(), "<b>two</b>": tokenizer("tiktoken").truncate(300)}
    made = measured(models, TEXTS)
    with opened(browser, document(made), tmp_path) as page:
        assert not page.locator("nav").is_visible()
        assert [[row[0], *map(number, row[1:4])] for row in rows(page, "sources")] == [
            [row["name"], row["bytes"], row["characters"], row["tokens"]] for row in made["sources"]
        ]
        assert [list(map(number, row[:3])) for row in rows(page, "lengths")] == [
            [length, uses, tokens] for length, tokens, uses in made["lengths"]
        ]
        assert [[number(row[0]), number(row[1])] for row in rows(page, "sizes")] == [
            [row["vocab_size"], row["tokens"]] for row in made["sizes"]
        ]
        assert [number(row[1]) for row in rows(page, "unused")] == [i for _, i in made["unused_shown"]]
        compared = iter(made["compared"])
        for source, *numbers in rows(page, "compared"):
            for place in (0, 3):
                row = next(compared)
                assert source == row["source"]
                assert numbers[place : place + 3] == [
                    f"{row['tokens']:,}",
                    f"{row['bytes_per_token']:.4f}",
                    ratio(row["tokens_to_first"]),
                ]
        assert page.locator("[data-name=compared] th").all_text_contents()[4] == "<b>two</b>: tokens"
        assert page.locator("svg polyline").count() == 2
        for line in page.locator("svg polyline").all():
            points = [float(part) for part in (line.get_attribute("points") or "").replace(",", " ").split()]
            assert all(0 <= x <= 720 for x in points[::2])
            assert all(0 <= y <= 240 for y in points[1::2])
        assert {"NaN", "Infinity"}.isdisjoint(page.locator("#report").inner_html().split())


def ratio(value: float) -> str:
    return "1" if value == 1 else f"{value:.4f}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_is_readable_and_fits(browser: Browser, scheme: str, width: int, tmp_path: Path) -> None:
    made = measured({"one": tokenizer(), "two": tokenizer("tiktoken")}, TEXTS)
    size = {"width": width, "height": 800}
    with opened(browser, document(made), tmp_path, viewport=size, color_scheme=scheme) as page:
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert page.evaluate(CONTRASTS) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_nothing_to_measure_is_no_error(browser: Browser, tmp_path: Path) -> None:
    made = measured({"empty": Tokenizer.train("", 256)}, {"nothing": ""})
    with opened(browser, document(made), tmp_path) as page:
        assert rows(page, "sources")[0][:4] == ["nothing", "0", "0", "0"]
        assert "NaN" not in page.locator("#report").inner_html()


def test_the_command_writes_the_report_and_prints_its_numbers(tmp_path: Path) -> None:
    tok = tokenizer()
    tok.save(tmp_path / "tok.json")
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text, "utf-8")
    command = [sys.executable, "-m", "bpetite", "report", "tok.json", "--input", *TEXTS, "--output", "r.html"]
    done = subprocess.run([*command, "--json"], cwd=tmp_path, capture_output=True, check=True)
    rows = json.loads(done.stdout)["sources"]
    assert [row["tokens"] for row in rows[:-1]] == [tok.count(text) for text in TEXTS.values()]
    assert inside(tmp_path / "r.html")["sources"] == rows
    curve = json.loads(done.stdout)["sizes"]
    assert (curve[-1]["vocab_size"], curve[-1]["tokens"]) == (tok.mergeable_vocab_size, rows[-1]["tokens"])
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
    command = [sys.executable, "-m", "bpetite", "report", *names, "--input", *texts, "--output", "r.html"]
    done = subprocess.run(
        [*command, "--json", "--quiet"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    made = inside(tmp_path / "r.html")
    assert made["name"] == "one.json"
    found = {(row["source"], row["tokenizer"]): row["tokens"] for row in made["compared"]}
    expected = {
        (f"{source}.txt", name): model.count(text)
        for source, text in TEXTS.items()
        for name, model in zip(names, models.values(), strict=True)
    }
    sums = {("total", name): sum(n for (_, of), n in expected.items() if of == name) for name in names}
    assert found == expected | sums
    assert json.loads(done.stdout)["compared"] == made["compared"]
    subprocess.run([*command[:4], *command[5:], "--force"], cwd=tmp_path, check=True, capture_output=True)
    assert inside(tmp_path / "r.html")["compared"] == []
