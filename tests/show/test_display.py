"""Tokens that are looked at: in a notebook, in a terminal, in plain text."""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import IPython.core.formatters
import pytest

from bpetite import Tokenizer, compare
from bpetite.encoding.display import ShownText, coloured, plain, visible
from encoders import CORPUS

TOKENIZER = Tokenizer.train(CORPUS, 400)
HOSTILE = (
    "<script>alert(1)</script>\"'&amp; \x1b[31m \x00 \u202e abc \u200b \u2028 e\u0301 東"
    "<|endoftext|>\r\n"
)


class Seen(HTMLParser):
    """Collects what a browser would show."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_notebook_shows_every_token_and_nothing_acts() -> None:
    shown = TOKENIZER.show(HOSTILE)
    seen = Seen(shown._repr_html_())
    assert set(seen.tags) == {"div", "bdi", "p"}
    assert seen.tags.count("bdi") == len(TOKENIZER.encode(HOSTILE))
    assert "<script>" in seen.text.replace("|", "")
    assert not {"\x1b", "\x00", "\u202e", "\u200b", "\u2028"} & set(seen.text)


def test_a_notebook_shows_tokens_in_colours_and_all_else_in_a_line() -> None:
    formatter: Any = IPython.core.formatters.DisplayFormatter()
    formatter.active_types = ["text/plain", "text/html"]
    seen, _ = formatter.format(TOKENIZER.show("the fox"))
    assert seen["text/html"] == TOKENIZER.show("the fox")._repr_html_()
    assert seen["text/plain"] == repr(TOKENIZER.show("the fox"))
    for value in (TOKENIZER, TOKENIZER.vocabulary, TOKENIZER.as_tiktoken()):
        seen, _ = formatter.format(value)
        assert list(seen) == ["text/plain"]
        assert "\n" not in seen["text/plain"]
        assert len(seen["text/plain"]) < 120


def test_elsewhere_it_is_plain_text_with_a_summary() -> None:
    shown = TOKENIZER.show("the fox<|endoftext|>")
    tokens = [
        TOKENIZER.token_bytes(token_id).decode()
        for token_id in TOKENIZER.encode("the fox<|endoftext|>")
    ]
    assert (
        repr(shown)
        == "|".join(tokens)
        + f"\n{len(tokens)} tokens, 20 bytes, {20 / len(tokens):.2f} bytes per token"
    )
    assert repr(TOKENIZER.show("")) == "\n0 tokens, 0 bytes"


def test_special_tokens_are_parsed_or_not_as_in_encode() -> None:
    assert [token.special for token in TOKENIZER.show("<|endoftext|>").tokens] == [True]
    assert not any(
        token.special for token in TOKENIZER.show("<|endoftext|>", special="text").tokens
    )


def test_a_terminal_gets_colours_and_no_control_characters_of_the_text() -> None:
    painted = coloured(TOKENIZER.show(HOSTILE).tokens)
    assert "\x1b[31m" not in painted
    assert "<1b>" in painted
    assert painted.count("\x1b[0m") == painted.count("\x1b[") / 2
    assert plain(TOKENIZER.show("a\x07").tokens).endswith("<07>")
    colours = r"\x1b\[[0-9;]*m"
    assert re.sub(colours, "", coloured(TOKENIZER.show("a\n\nb").tokens)) == "a↵\n↵\nb"
    assert not re.search(rf"{colours}{colours}", coloured(TOKENIZER.show("\n").tokens))


def test_what_cannot_be_seen_is_spelled_out() -> None:
    assert visible("\u202eé\u2028\xa0\ufeff".encode()) == "<U+202E>é<U+2028> <U+FEFF>"
    assert visible(b"\xe6\x97") == "<e6><97>"
    assert visible(b"a\xc3") + visible(b"\xa9b\x80") == "a<c3><a9>b<80>"
    assert visible(b"\n\t\r") == "\n\t<0d>"


def test_a_long_text_is_drawn_in_part_and_says_so() -> None:
    shown = TOKENIZER.show("the fox " * 4000)
    page = shown._repr_html_()
    assert page.count("<bdi") == ShownText.MOST_TOKENS
    assert f"and {len(shown.tokens) - ShownText.MOST_TOKENS:,} tokens more" in page


def test_a_notebook_shows_a_comparison_without_acting_on_its_text() -> None:
    tok = Tokenizer.train_from_iterator(["ab ab"], 300, special_tokens=["<script>"])
    compared = compare(tok, other=tok.truncate(256), text="ab<b>")._repr_html_()
    assert compared.count("<td") == 2
    assert "<b>other</b>" in compared
    assert "&lt;" in compared


def test_a_comparison_is_a_table() -> None:
    tok = Tokenizer.train("ab ab ab", 258)
    rows = compare(tok, small=tok.truncate(256), text="ab ab").rows()
    assert [(row["tokenizer"], row["tokens"], row["bytes"]) for row in rows] == [
        ("a", 2, 5),
        ("small", 5, 5),
    ]
    with pytest.raises(ValueError, match="there is no tokenizer to compare"):
        compare(text="ab")


def test_a_notebook_sees_progress_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from IPython.core.displaypub import CapturingDisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    (tmp_path / "a.txt").write_text(CORPUS * 50, "utf-8")
    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell.instance(config=config)
    published: Any = CapturingDisplayPublisher()  # type: ignore[no-untyped-call]  # it has no annotations
    monkeypatch.setattr(shell, "display_pub", published)
    monkeypatch.setitem(sys.modules, "ipykernel", shell)
    Tokenizer.train_from_files(tmp_path / "a.txt", 400, progress=True)
    InteractiveShell.clear_instance()
    texts = [output["data"]["text/plain"] for output in published.outputs]
    assert texts[0] == texts[-1] == ""
    assert any("counting" in text and "100%" in text for text in texts)
    assert any("merging" in text for text in texts)
    assert not any("\x1b" in text for text in texts)
