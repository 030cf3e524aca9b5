"""The viewer's page in a browser: what a person sees is what the specification says."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from bpetite import Tokenizer, explain_difference
from bpetite._encoder import _base_ids, merge_ids
from bpetite._encoder import encode as specified_encode
from bpetite._pretokenizer import pretokenize
from bpetite._trainer import (
    _apply_merge_to_word,
    _apply_merge_to_words,
    _count_pairs,
    _count_words,
    train_bpe,
)
from bpetite.dialect import DIALECTS, Dialect
from bpetite.encoding.display import visible
from bpetite.patterns import named_pattern
from bpetite.show.viewer.lessons import lessons
from bpetite.show.viewer.page import drawn
from bpetite.show.viewer.server import Viewer
from viewing import open_view, running, settled, watched_page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HOSTILE = [
    "<script>alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)>",
    "\"'><b>&amp;</b>&lt;/textarea></textarea>",
    "\u202egnirts desrever\u202c \u2066isolate\u2069 \u200bzero\u200d \ufeff \x00\x07\x1b[31m\x7f \u2028",
    "e\u0301\u0301\u0301 \u0301alone Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘",
    "👩‍👩‍👧 🏳️‍🌈 👋🏽 日本語 عربى עברית हिन्दी",
    "a\r\nb\rc\t\td  \xa0\u3000e",
    "<|endoftext|>" * 3 + "<|endoftext",
]


PASTE = """text => {
    const field = document.querySelector("#text");
    field.select();
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text);
    const paste = new ClipboardEvent("paste", { clipboardData, cancelable: true });
    if (field.dispatchEvent(paste)) {
        field.setRangeText(text);
        field.dispatchEvent(new Event("input"));
    }
}"""


def specified_steps(tokenizer: Tokenizer, pretoken: bytes) -> list[tuple[int, list[int]]]:
    """Replay the specification's loop for one pretoken: the rank and the ids of every step."""
    vocab, merges = tokenizer.vocabulary.tokens, tokenizer.merges
    id_of_byte, id_of_merge = _base_ids(vocab, {}), merge_ids(vocab, merges, {})
    rank_of = {pair: rank for rank, pair in enumerate(merges)}
    ids = [id_of_byte[byte] for byte in pretoken]
    steps = []
    while present := [rank_of[pair] for pair in pairwise(ids) if pair in rank_of]:
        rank = min(present)
        ids = list(_apply_merge_to_word(ids, merges[rank], id_of_merge[rank]))
        steps.append((rank, ids))
    return steps


def wait_until(page: Page, script: str, expected: object) -> None:
    """Wait until a function of the page returns a value."""
    wanted = json.dumps(expected, ensure_ascii=False, separators=(",", ":"))
    page.wait_for_function(f"wanted => JSON.stringify(({script})()) === wanted", arg=wanted)


def type_text(page: Page, text: str) -> None:
    """Replace the content of the field by a text, and wait until it is shown."""
    page.evaluate(PASTE, text)
    settled(page)
    size = len(page.locator("#text").input_value().encode("utf-8"))
    assert f" {size:,} byte" in page.locator("#text-status").inner_text()


def shown_ids(page: Page, model: int = 0) -> list[int]:
    """The ids that the page shows, in the view of ids."""
    page.locator("#show").select_option("ids")
    tokens = page.locator(".tokens").nth(model).locator("[data-place]")
    return [int(text) for text in tokens.all_text_contents()]


# Tokens
# ------------------------------------------------------------------------------------------------


def test_tokens_follow_every_key(page: Page, small: Tokenizer) -> None:
    page.locator("#text").fill("")
    typed = ""
    for key in "the tokens, naïve":
        typed += key
        page.locator("#text").press_sequentially(key)
        settled(page)
        expected = specified_encode(typed, small.vocabulary.tokens, small.merges, {})
        assert shown_ids(page) == expected
    summary = page.locator(".summary").inner_text()
    assert summary.startswith(f"{len(expected)} tokens")
    assert f"{len(typed.encode()) / len(expected):.2f} bytes per token" in summary


def test_the_table_gives_ids_offsets_and_bytes(page: Page, small: Tokenizer) -> None:
    text = "naïve\ttokens<|endoftext|>"
    type_text(page, text)
    page.locator("#show").select_option("table")
    rows = [
        row.locator("td").all_text_contents() for row in page.locator(".tokens [data-place]").all()
    ]
    ids, spans = small.encode_with_offsets(text, unit="bytes")
    assert [int(row[1]) for row in rows] == ids
    assert [row[2] for row in rows] == [f"{start}–{end}" for start, end in spans]
    assert [bytes.fromhex(row[4]) for row in rows] == [
        small.token_bytes(token_id) for token_id in ids
    ]
    assert page.locator(".tokens .special").count() == 1


def test_invisible_characters_are_made_visible(page: Page) -> None:
    type_text(page, "a b\tc\nd\u202e\x00é")
    shown = page.locator(".tokens").inner_text()
    for mark in ("·", "→", "↵", "e280ae", "00"):
        assert mark in shown
    assert "\u202e" not in shown
    assert "\x00" not in shown
    for token, seen in (
        ("\u202ea\u200d".encode(), "U+202EaU+200D"),
        ("\u0301".encode(), "◌\u0301"),
        ("\ufeff\xa0".encode(), "U+FEFF·"),
        (b"a\xc3", "ac3"),
        ("\x97日é".encode()[1:-1], "97日c3"),
        (b"\xf0\x9f\x98\x80\xf0\x9f", "😀f09f"),
        (b"<c3> <dd>", "<c3>·<dd>"),
    ):
        assert page.evaluate("token => chip(token).textContent", drawn(token)) == seen


def test_a_token_is_drawn_with_all_of_its_characters() -> None:
    rng = random.Random(5)
    parts = [
        *map(str.encode, "aé日😀 \n"),
        *(bytes([byte]) for byte in b"\x80\x9f\xa0\xbf\xc0\xc3\xe0\xed\xf0\xf4\xff"),
    ]
    for _ in range(2000):
        token = b"".join(rng.choices(parts, k=rng.randint(1, 6)))
        assert "".join(drawn(token)["runs"]).removeprefix("◌") == visible(token)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_and_does_nothing(page: Page, small: Tokenizer, text: str) -> None:
    type_text(page, text)
    typed = text.replace("\r\n", "\n").replace(
        "\r", "\n"
    )  # a text field changes line ends like this
    assert shown_ids(page) == small.encode(typed)
    page.locator("#show").select_option("text")
    assert page.locator("#tokens :is(script, img, svg, b:not(.count), iframe)").count() == 0
    assert not set("\u202e\u2066\u200b\u2028\x00\x1b") & set(page.locator("#panes").inner_text())


def test_pointing_at_a_token_tells_what_it_is(page: Page, small: Tokenizer) -> None:
    type_text(page, "tokenization")
    token_id = small.encode("tokenization")[0]
    token = small.token_bytes(token_id)
    page.locator(".tokens .token").first.hover()
    details = page.locator(f"#token-details[data-id='{token_id}']")
    details.wait_for()
    facts = dict(
        zip(
            *(details.locator(f"dl {name}").all_text_contents() for name in ("dt", "dd")),
            strict=True,
        )
    )
    assert facts["Id"] == str(token_id)
    assert facts["Rank"] == str(small.merges.index(small.vocabulary.merges[token_id - 256]))
    assert facts["Bytes"] == f"{token.hex(' ')} ({len(token)})"
    assert facts["Place"] == f"token 0, bytes 0 to {len(token)}"
    leaves = details.locator(".tree li:not(:has(li)) .chip").all_text_contents()
    assert "".join(leaves).encode() == token
    inner = details.locator(".tree li:has(li)").count()
    assert inner == len(leaves) - 1


def test_a_token_that_was_pressed_stays_when_the_pointer_moves_to_the_panel(
    page: Page, small: Tokenizer
) -> None:
    type_text(page, "the tokens of the new")
    ids = small.encode("the tokens of the new")
    tokens = page.locator(".tokens .token")
    tokens.nth(1).hover()
    assert told_id(page) == ids[1]
    tokens.nth(2).click()
    tokens.nth(3).hover()
    assert told_id(page) == ids[2]
    assert page.locator(".tokens .chosen").all_text_contents() == [tokens.nth(2).text_content()]
    page.get_by_role("button", name="Close").click()
    assert "Choose a token" in page.locator("#token-details").inner_text()
    tokens.nth(3).hover()
    assert told_id(page) == ids[3]
    page.locator("#text").fill("new")
    settled(page)
    assert told_id(page) == -1, "the panel must not tell of a text that is gone"


@pytest.mark.parametrize("view", ["tokens", "vocabulary"])
def test_on_a_phone_what_is_known_of_a_token_hides_until_one_is_chosen_and_never_covers_it(
    browser: Browser, viewer: Viewer, view: str
) -> None:
    size = {"width": 390, "height": 800}
    with watched_page(browser, viewer, viewport=size, has_touch=True) as page:
        open_view(page, viewer, view)
        panel = page.locator(f"#{view} aside")
        assert not panel.is_visible()
        chosen = page.locator(".tokens .token, #found tbody button").locator("visible=true")
        for place in (3, 40, 0):
            chosen.nth(place).tap()
            settled(page)
            below, token = panel.bounding_box(), chosen.nth(place).bounding_box()
            assert below is not None
            assert token is not None
            assert 0 <= token["y"] <= below["y"] - token["height"]
            assert below["y"] + below["height"] <= 800
        page.locator(f"#{view}").get_by_role("button", name="Close").tap()
        assert not panel.is_visible()


def test_the_arrow_keys_move_from_token_to_token(page: Page, small: Tokenizer) -> None:
    text = "the tokens of the new"
    type_text(page, text)
    page.locator(".tokens .token").first.focus()
    ids = small.encode(text)
    told = [told_id(page)]
    for key in (*["ArrowRight"] * len(ids), "Home", "End"):
        page.keyboard.press(key)
        told.append(told_id(page))
    assert told == [*ids, ids[-1], ids[0], ids[-1]]


def told_id(page: Page) -> int:
    """The id of the token that the panel beside the tokens describes."""
    settled(page)
    return int(page.locator("#token-details").get_attribute("data-id") or -1)


def test_a_megabyte_stays_usable(page: Page, small: Tokenizer) -> None:
    line = "the lowest of the low, the newest tokens; naïve 東京 12345\n"
    text = line * (1_000_000 // len(line.encode()))
    type_text(page, text)
    assert int(page.locator(".tokens").get_attribute("data-count") or 0) == small.count(text)
    drawn_at_first = page.locator(".tokens [data-place]").count()
    assert 0 < drawn_at_first < 20_000
    page.locator("#text").press("x")
    settled(page)
    assert page.locator("#text-status").inner_text().startswith(f"{len(text) + 1:,} characters")
    page.locator(".tokens").get_by_role("button", name="Show more").click()
    assert page.locator(".tokens [data-place]").count() == 2 * drawn_at_first
    page.keyboard.press("Home")
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.dataset.place") == str(2 * drawn_at_first - 1)


def test_a_megabyte_without_a_line_end_or_a_merge_stays_usable(
    page: Page, small: Tokenizer
) -> None:
    text = "x" * 1_000_000
    type_text(page, text)
    assert int(page.locator(".tokens").get_attribute("data-count") or 0) == small.count(text)
    assert page.locator(".tokens [data-place]").count() < 20_000


# Merging
# -----------------------------------------------------------------------------------------------


STATES = """() => [...document.querySelectorAll("#merging-states li")].map(
    (row) => row.dataset.ids.split(" ").map(Number))"""


@pytest.mark.parametrize("text", ["tokenization", "newest lowest", "aaaa", "naïve", "x", "東京"])
def test_merging_is_the_specifications(
    page: Page, viewer: Viewer, small: Tokenizer, text: str
) -> None:
    open_view(page, viewer, "merging")
    page.locator("#merging-text").fill(text)
    settled(page)
    base = _base_ids(small.vocabulary.tokens, {})
    for place, pretoken in enumerate(pretokenize(text)):
        page.locator("#merging-words .word").nth(place).click()
        expected = specified_steps(small, pretoken)
        states = [[base[byte] for byte in pretoken], *(ids for _, ids in expected)]
        wait_until(page, STATES, states)
        slider = page.get_by_label("Step of merging")
        assert slider.get_attribute("max") == str(len(expected))
        for step, ids in enumerate(states):
            slider.fill(str(step))
            assert page.locator("#merging-states li:visible").count() == step + 1
            state = page.locator("#merging-states .now")
            assert state.get_attribute("data-ids") == " ".join(map(str, ids))
            lowest = state.locator(".join.lowest").all_text_contents()
            assert set(lowest) == ({str(expected[step][0])} if step < len(expected) else set())


def test_merging_plays_by_itself_and_stops_at_the_end(page: Page, viewer: Viewer) -> None:
    open_view(page, viewer, "merging")
    page.locator("#merging-text").fill("low")
    settled(page)
    last = page.get_by_label("Step of merging").get_attribute("max")
    page.locator("#merging-player .play").click()
    wait_until(page, "() => document.querySelector('#merging-player input').value", last)
    wait_until(page, "() => document.querySelector('#merging-player .play').textContent", "Play")


def test_a_tokens_pretoken_can_be_watched(page: Page, small: Tokenizer) -> None:
    type_text(page, "the lowest tokenization")
    page.locator(".tokens .token").last.click()
    page.get_by_role("button", name="Watch its pretoken merge").click()
    page.locator("#merging").wait_for()
    settled(page)
    assert page.locator("#merging-text").input_value() == " tokenization"
    states = len(specified_steps(small, b" tokenization")) + 1
    assert page.locator("#merging-states li").count() == states


def test_a_special_token_and_a_long_pretoken_say_why_they_have_no_steps(
    page: Page, viewer: Viewer
) -> None:
    open_view(page, viewer, "merging")
    for text, words in (
        ("<|endoftext|>", "without any merge"),
        ("x" * 300, "too long"),
        ("", "Type something"),
    ):
        page.locator("#merging-text").fill(text)
        settled(page)
        assert words in page.locator("#merging-sentence").inner_text()


# Training
# ----------------------------------------------------------------------------------------------

SEEDS = [
    (
        "low low low low low\nlower lower widest widest widest\nnewest newest newest newest newest newest\n",
        r"\S+",
    ),
    ("ab ab ab", "gpt2"),
    ("cab", "gpt2"),
    ("abcab ab ac xyxyxy", "whitespace"),
    ("aaa aaaa aaaaa", "gpt2"),
    ("the end<|endoftext|>the end<|endoftext|>", "gpt2"),
    ("naïve 東京 👋🏽 don't 123456", "cl100k"),
    ("a-b a-b c", r"[a-z]+"),
]


def specified_merges(corpus: str, pattern: str, dialect: str, most: int) -> list[list[Any]]:
    """The result of `train_bpe`, in the form that the page uses."""
    result = train_bpe(corpus, 257 + most, dialect=dialect, pattern=named_pattern(pattern))
    made = merge_ids(result.vocab, result.merges, result.special_tokens)
    rows = zip(result.merges, made, strict=True)
    merges = [
        [*pair, token_id, *(result.vocab[part].hex(" ") for part in pair)]
        for pair, token_id in rows
    ]
    return merges[:most]


def random_corpora(count: int) -> Iterator[tuple[str, str]]:
    chance = random.Random(7)
    for _ in range(count):
        alphabet = chance.choice(["ab", "abc ", "abcde fgh ", "aé東 \n", "01 a.,"])
        yield (
            "".join(chance.choices(alphabet, k=chance.randint(0, 80))),
            chance.choice(["gpt2", "whitespace", "none"]),
        )


def test_training_in_the_page_is_train_bpe_in_every_dialect() -> None:
    for corpus, pattern in [*SEEDS, *random_corpora(40)]:
        taught = lessons(corpus, pattern, "<|endoftext|>", 30)["lessons"]
        assert [lesson["name"] for lesson in taught] == list(DIALECTS)
        for lesson in taught:
            found = [
                [*step["pair"], step["made"], *spelled(lesson, step["pair"])]
                for step in lesson["steps"]
            ]
            assert found == specified_merges(corpus, pattern, lesson["name"], 30), (
                corpus,
                lesson["name"],
            )
            assert all(step["pairs"][0][0] == step["pair"] for step in lesson["steps"])


def spelled(lesson: dict[str, Any], ids: Sequence[int]) -> tuple[str, ...]:
    """The bytes of tokens as the page gets them."""
    return tuple(lesson["tokens"][token_id]["hex"] for token_id in ids)


def test_every_step_of_training_has_the_counts_and_the_words_of_the_specification() -> None:
    for corpus, pattern in SEEDS:
        for dialect in DIALECTS:
            result = train_bpe(corpus, 287, dialect=dialect, pattern=named_pattern(pattern))
            made = merge_ids(result.vocab, result.merges, result.special_tokens)
            rules = Dialect.named(dialect)
            base = {byte: token_id for token_id, byte in rules.base_vocabulary(1).items()}
            words = _count_words(corpus, base, rules, named_pattern(pattern), ["<|endoftext|>"])
            [lesson] = [
                lesson
                for lesson in lessons(corpus, pattern, "<|endoftext|>", 30)["lessons"]
                if lesson["name"] == dialect
            ]
            for step, pair, token_id in zip(lesson["steps"], result.merges, made, strict=False):
                counts = _count_pairs(words)
                assert step["tied"] == sum(count == counts[pair] for count in counts.values())
                assert [count for _, count in step["pairs"]] == sorted(
                    counts.values(), reverse=True
                )[:8]
                assert step["more_pairs"] == max(0, len(counts) - 8)
                words = _apply_merge_to_words(words, pair, token_id)
                whole = {
                    tuple(result.vocab[i].hex(" ") for i in word): count
                    for word, count in words.items()
                }
                rows = step["words"]["rows"]
                assert len(rows) + step["words"]["more"] == len(words)
                assert {spelled(lesson, ids): count for ids, count in rows}.items() <= whole.items()


@pytest.mark.parametrize(("corpus", "pattern"), SEEDS[:4])
def test_the_training_view_shows_every_merge(
    page: Page, viewer: Viewer, corpus: str, pattern: str
) -> None:
    open_view(page, viewer, "training")
    page.locator("#pattern").fill(pattern)
    page.locator("#corpus").fill(corpus)
    pairs = {name: specified_merges(corpus, pattern, name, 40) for name in DIALECTS}
    last = str(max(map(len, pairs.values())))
    settled(page)
    assert page.get_by_label("Merge", exact=True).get_attribute("max") == last
    page.get_by_label("Merge", exact=True).fill(last)
    for name, merges in pairs.items():
        script = """name => [...document.querySelectorAll(`.lesson[data-name=${name}] .merges li`)].map(
            (item) => item.dataset.pair)"""
        assert page.evaluate(script, name) == [f"{row[0]} {row[1]}" for row in merges]


def test_the_training_view_tells_counts_the_winner_and_the_tie_rule(
    page: Page, viewer: Viewer
) -> None:
    open_view(page, viewer, "training")
    assert page.get_by_label("Merge", exact=True).input_value() == "1"
    ours, theirs = (page.locator(f".lesson[data-name={name}]") for name in ("bpetite", "cs336"))
    assert (
        "2 pairs have this count; the smallest pair of ids wins: (101, 115)." in ours.inner_text()
    )
    assert "2 pairs have this count; the greatest pair of bytes wins." in theirs.inner_text()
    assert ours.locator(".pairs .won").inner_text().split() == ["es", "9"]
    assert theirs.locator(".pairs .won").inner_text().split() == ["st", "9"]
    assert ours.locator(".pairs .tied").inner_text().split() == ["st", "9"]
    assert "newest × 6" in theirs.inner_text()
    assert theirs.get_attribute("class") == "card lesson differs"
    assert "cs336 → s + t" in page.locator("#training-sentence").inner_text()


def test_the_training_view_explains_how_somebodys_merges_differ(page: Page, viewer: Viewer) -> None:
    corpus = "low lower lowest <b>low</b>"
    theirs = [(left.decode(), right.decode()) for left, right in own_merges(corpus, 4)]
    wrong = [*theirs[:2], ("l", "o"), *theirs[3:]]
    open_view(page, viewer, "training")
    page.locator("#corpus").fill(corpus)
    page.locator("#pattern").fill("gpt2")
    settled(page)

    def explained() -> str:
        page.get_by_role("button", name="Explain the first difference").click()
        settled(page)
        return page.locator("#difference").inner_text()

    page.locator("#training summary").click()
    lines = [" ".join(part.replace(" ", "Ġ") for part in pair) for pair in theirs]
    for form in (json.dumps(theirs), repr(theirs), "\n".join(["#version: 0.2", *lines])):
        page.locator("#my-merges").fill(form)
        assert explained() == "All 4 merges match the dialect cs336."
        page.locator("#difference").evaluate("told => told.textContent = ''")

    expected = explain_difference(corpus, wrong, special_tokens=["<|endoftext|>"])
    assert expected is not None
    page.locator("#my-merges").fill(json.dumps(wrong))
    heading, _, _, *lines = str(expected).split("\n")
    shown = explained()
    assert all(line in shown for line in (heading, *lines))
    facts = page.locator("#difference dd").all_text_contents()
    pairs = (expected.yours, expected.your_count), (expected.expected, expected.expected_count)
    for fact, (pair, count) in zip(facts, pairs, strict=True):
        assert (
            fact
            == f"{b''.join(pair or ()).decode()} counted {count:,} time{'' if count == 1 else 's'}"
        )
    assert page.locator("#difference dd .chip").count() == 4
    bold = page.locator("#difference b").all_text_contents()
    assert bold == ([expected.cause] if expected.cause else expected.explanations)
    assert page.get_by_label("Merge", exact=True).input_value() == str(expected.rank + 1)
    assert f"Merge {expected.rank} (from 0)" in page.locator("#training-sentence").inner_text()

    page.locator("#explain-dialect").select_option("bpetite")
    expected = explain_difference(
        corpus, wrong, dialect="bpetite", special_tokens=["<|endoftext|>"]
    )
    assert str(expected).split("\n")[0] in explained()
    page.locator("#my-merges").fill("[1, 2]")
    assert "merge 0 must be a pair" in explained()
    assert page.locator("#difference.wrong").count() == 1


def test_the_cause_of_a_difference_is_bold(page: Page, viewer: Viewer) -> None:
    corpus = "Low low loW the lowest of the low"
    lower = Tokenizer.train_from_iterator([corpus.lower()], 262, dialect="cs336")
    merges = [tuple(lower.token_bytes(part).decode() for part in pair) for pair in lower.merges]
    open_view(page, viewer, "training")
    page.locator("#corpus").fill(corpus)
    page.locator("#pattern").fill("gpt2")
    page.locator("#training summary").click()
    page.locator("#my-merges").fill(json.dumps(merges))
    page.get_by_role("button", name="Explain the first difference").click()
    settled(page)
    assert page.locator("#difference b").all_text_contents() == ["if text were made lower case"]


def test_on_a_phone_training_shows_one_dialect_and_keeps_the_player_in_sight(
    browser: Browser, viewer: Viewer
) -> None:
    with watched_page(browser, viewer, viewport={"width": 390, "height": 800}) as page:
        open_view(page, viewer, "training")
        assert page.evaluate("document.documentElement.scrollHeight") < 2000
        for name in DIALECTS:
            page.locator("#dialects").get_by_role("button", name=name).click()
            page.get_by_role("button", name="Next step").click()
            assert page.locator(".lesson:visible h2").all_text_contents() == [name]
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        player = page.locator("#training-player").bounding_box()
        assert player is not None
        assert 0 <= player["y"] < 10
        page.set_viewport_size({"width": 1280, "height": 800})
        assert page.locator(".lesson:visible").count() == len(DIALECTS)
        assert not page.locator("#dialects").is_visible()


def own_merges(corpus: str, count: int) -> list[tuple[bytes, bytes]]:
    """The first merges of the dialect `cs336`."""
    tokenizer = Tokenizer.train_from_iterator([corpus], 257 + count, dialect="cs336")
    return [
        (tokenizer.token_bytes(left), tokenizer.token_bytes(right))
        for left, right in tokenizer.merges
    ]


def test_a_pattern_that_is_wrong_is_told(page: Page, viewer: Viewer) -> None:
    open_view(page, viewer, "training")
    page.locator("#pattern").fill("(")
    settled(page)
    assert "pattern" in page.locator("#training-sentence.wrong").inner_text()
    page.locator("#pattern").fill("gpt2")
    settled(page)
    assert page.locator("#training-sentence.wrong").count() == 0


# Two models and the vocabulary
# -------------------------------------------------------------------------


def test_differences_from_a_model_that_normalizes_are_those_of_the_text_as_typed(
    browser: Browser, small: Tokenizer
) -> None:
    composing = Tokenizer(replace(small.vocabulary, normalization="NFC"))
    text = "nai\u0308ve tokens, the newest cafe\u0301 of the low"
    with (
        running(("plain", small), ("composing", composing)) as viewer,
        watched_page(browser, viewer) as page,
    ):
        open_view(page, viewer, "tokens")
        type_text(page, text)
        marked = [
            page.locator(".tokens").nth(number).locator(".differs").all_text_contents()
            for number in (0, 1)
        ]
        page.locator(".tokens").nth(1).locator(".token").nth(1).click()
        settled(page)
        assert "bytes 1 to 3" in page.locator("#token-details").inner_text()
    with (
        running(("composing", composing), ("composing too", composing)) as viewer,
        watched_page(browser, viewer) as page,
    ):
        open_view(page, viewer, "tokens")
        type_text(page, text)
        assert page.locator("#panes .differs").count() == 0
    alike = sum(len(small.encode(part)) for part in ("n", " tokens, the newest caf", " of the low"))
    assert list(map(len, marked)) == [
        len(tokenizer.encode(text)) - alike for tokenizer in (small, composing)
    ]


def test_two_models_stand_side_by_side_with_their_differences(
    browser: Browser, pair: Viewer, small: Tokenizer, other: Tokenizer
) -> None:
    text = "the lowest of tokenization, don't 12345\tnaïve<|endoftext|><b>&amp;</b>"
    with watched_page(browser, pair) as page:
        open_view(page, pair, "tokens")
        type_text(page, text)
        spans = [
            set(tokenizer.encode_with_offsets(text, unit="bytes")[1])
            for tokenizer in (small, other)
        ]
        for number, tokenizer in enumerate((small, other)):
            assert shown_ids(page, number) == tokenizer.encode(text)
            differing = page.locator(".tokens").nth(number).locator(".differs").count()
            assert differing == len(spans[number] - spans[1 - number])
            assert (
                f"{differing} cut differently" in page.locator(".summary").nth(number).inner_text()
            )
        page.locator(".tokens").nth(1).locator(".token").first.click()
        assert told_id(page) == other.encode(text)[0]
        assert "other.json" in page.locator("#token-details").inner_text()


def test_three_models_stand_side_by_side_and_mark_what_not_all_cut_alike(
    browser: Browser, small: Tokenizer, other: Tokenizer
) -> None:
    models = {"small": small, "other": other, "bytes": Tokenizer.train("", 256)}
    text = "the lowest of the low"
    with running(*models.items()) as viewer, watched_page(browser, viewer) as page:
        open_view(page, viewer, "tokens")
        type_text(page, text)
        assert page.locator("#comparing").is_visible()
        assert not page.locator("#token-details").is_visible()
        spans = [set(model.encode_with_offsets(text, unit="bytes")[1]) for model in models.values()]
        for number, model in enumerate(models.values()):
            assert shown_ids(page, number) == model.encode(text)
            differing = page.locator(".tokens").nth(number).locator(".differs").count()
            assert differing == len(spans[number] - (spans[0] & spans[1] & spans[2]))
        boxes = [pane.bounding_box() for pane in page.locator(".tokens").all()]
        assert len({box["y"] for box in boxes if box}) == 1
        assert sum(box["width"] for box in boxes if box) > 0.9 * 1180, "nothing is lost at the side"
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= 1280 for box in boxes if box)
        page.locator(".tokens").nth(2).locator(".token").first.click()
        assert told_id(page) == ord("t")
        assert page.locator("#token-details").is_visible()


def test_the_vocabulary_opens_at_the_first_merge_and_is_sorted(
    page: Page, viewer: Viewer, small: Tokenizer
) -> None:
    type_text(page, "tokens of the low")
    page.locator("nav a[href='#vocabulary']").click()
    settled(page)
    tokens = small.vocabulary.tokens

    def rows() -> list[list[str]]:
        found = page.locator("#found tbody tr").all()
        return [row.locator("td").all_text_contents() for row in found]

    left, right = small.merges[0]
    parts = (drawn(tokens[part])["runs"] for part in (left, right))
    made_of = " + ".join("".join(runs).replace(" ", "·") for runs in parts)
    assert rows()[0][:2] == ["256", "0"]
    assert rows()[0][3] == made_of
    assert [row[1] for row in rows()] == [str(rank) for rank in range(100)]
    page.locator("#sort").select_option("length")
    settled(page)
    lengths = sorted(map(len, [*tokens.values(), b"<|endoftext|>"]), reverse=True)
    assert [int(row[4]) for row in rows()] == lengths[:100]
    page.locator("#sort").select_option("uses")
    settled(page)
    used = small.encode("tokens of the low")
    uses = sorted((used.count(token_id) for token_id in set(used)), reverse=True)
    assert [int(row[5]) for row in rows()][: len(uses) + 1] == [*uses, 0]
    page.locator("#sort").select_option("id")
    settled(page)
    assert [row[0] for row in rows()] == [str(token_id) for token_id in range(100)]


def test_the_vocabulary_is_searched_by_text_bytes_and_id(
    page: Page, viewer: Viewer, small: Tokenizer
) -> None:
    open_view(page, viewer, "vocabulary")
    tokens = small.vocabulary.tokens

    def found(by: str, query: str, expected: int) -> list[int]:
        page.locator("#by").select_option(by)
        page.locator("#search").fill(query)
        settled(page)
        status = f"{expected} token{'' if expected == 1 else 's'}"
        assert page.locator("#search-status").inner_text() == status
        return [
            int(row.get_attribute("data-id") or -1) for row in page.locator("#found tbody tr").all()
        ]

    page.locator("#sort").select_option("id")
    with_text = sorted(token_id for token_id, token in tokens.items() if b"ok" in token)
    assert found("text", "ok", len(with_text)) == with_text
    assert found("bytes", "6f 6b", len(with_text)) == with_text
    assert found("id", "300-302", 3) == [300, 301, 302]
    page.locator("#found tbody button").first.click()
    page.locator("#vocabulary-details[data-id='300']").wait_for()
    assert len(found("text", "", small.vocab_size)) == 100
    for shown in range(200, small.vocab_size + 100, 100):
        page.locator("#more").click()
        settled(page)
        assert page.locator("#found tbody tr").count() == min(shown, small.vocab_size)
    assert not page.locator("#more").is_visible()
    page.locator("#by").select_option("bytes")
    page.locator("#search").fill("6")
    settled(page)
    assert "hexadecimal" in page.locator("#search-status").inner_text()


def test_a_hostile_name_and_hostile_special_tokens_are_only_text(browser: Browser) -> None:
    specials = ["<img src=x onerror=alert(1)>", "\u202e<script>"]
    corpus = "the tokens" + "".join(specials)
    tokenizer = Tokenizer.train_from_iterator(
        [corpus], 300, dialect="tiktoken", special_tokens=specials
    )
    with (
        running(("<script>alert(1)</script>", tokenizer)) as viewer,
        watched_page(browser, viewer) as page,
    ):
        for view in ("tokens", "merging", "training", "vocabulary"):
            open_view(page, viewer, view)
        open_view(page, viewer, "tokens")
        type_text(page, corpus)
        assert page.locator(".tokens .special").count() == 2
        assert page.locator(":is(header, main) :is(img, script)").count() == 0
        assert "<script>alert(1)</script>" in page.locator("#models").inner_text()


# The page as a whole
# -----------------------------------------------------------------------------------

VIEWS = ["tokens", "merging", "training", "vocabulary"]

CONTRASTS = """() => {
    const channel = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
    const parse = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const background = (element) => {
        for (; element; element = element.parentElement) {
            const colour = parse(getComputedStyle(element).backgroundColor);
            if (colour.length === 3 || colour[3] === 1) return colour;
        }
        return [255, 255, 255];
    };
    const poor = [];
    for (const element of document.querySelectorAll("body *")) {
        const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
        if (!own || !element.checkVisibility()) continue;
        const one = luminance(parse(getComputedStyle(element).color)), two = luminance(background(element));
        const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
        if (ratio < 4.5) poor.push(`${element.tagName}.${element.className} ${ratio.toFixed(2)}`);
    }
    return [...new Set(poor)];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_every_view_is_readable_and_fits(
    browser: Browser, pair: Viewer, scheme: str, width: int
) -> None:
    size = {"width": width, "height": 800}
    with watched_page(browser, pair, viewport=size, color_scheme=scheme) as page:
        for view in VIEWS:
            open_view(page, pair, view)
            if view == "tokens":
                page.locator(".tokens .token").nth(1).click()
                settled(page)
                assert page.locator("#token-details dl").count() == 1
            assert page.evaluate(CONTRASTS) == [], view
            assert page.evaluate("document.documentElement.scrollWidth") <= width, view


WATCH_SHIFTS = """
    window.shifted = 0;
    const add = (entries) => entries.forEach((entry) => { window.shifted += entry.value; });
    const observer = new PerformanceObserver((list) => add(list.getEntries()));
    observer.observe({ type: "layout-shift", buffered: true });
    window.shiftedSoFar = async () => {
        for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
        add(observer.takeRecords());
        return window.shifted;
    };
"""


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_jumps(browser: Browser, pair: Viewer, view: str) -> None:
    with watched_page(browser, pair) as page:
        page.add_init_script(WATCH_SHIFTS)
        open_view(page, pair, view)
        before = page.evaluate("window.shiftedSoFar()")  # while the first answers came
        if view == "tokens":
            type_text(page, "the lowest tokens\n" * 30)
            for place in range(6):
                page.locator(".tokens .token").nth(place).hover()
        if view in ("merging", "training"):
            for _ in range(8):
                page.locator(f"#{view} [aria-label='Next step']").click()
        if view == "vocabulary":
            page.locator("#search").fill("to")
            settled(page)
            page.locator("#found tbody button").nth(2).click()
        settled(page)
        assert page.evaluate("window.shiftedSoFar()") - before < 0.02


def test_every_view_is_reached_by_keyboard(page: Page) -> None:
    page.locator("nav a").first.focus()
    for view in VIEWS:
        page.keyboard.press("Enter")
        page.locator(f"#{view}").wait_for()
        assert page.locator(f"nav a[href='#{view}']").get_attribute("aria-current") == "page"
        page.locator(f"nav a[href='#{view}']").focus()
        page.keyboard.press("Tab")


def test_every_control_has_a_name(page: Page, viewer: Viewer) -> None:
    nameless = """() => [...document.querySelectorAll("button, input, select, textarea")]
        .filter((element) => element.checkVisibility() && !element.textContent.trim()
            && !element.ariaLabel && !element.labels?.length).map((element) => element.outerHTML)"""
    for view in VIEWS:
        open_view(page, viewer, view)
        assert page.evaluate(nameless) == []


def test_the_pages_own_policy_forbids_to_ask_elsewhere(browser: Browser, viewer: Viewer) -> None:
    page = browser.new_page()
    open_view(page, viewer, "tokens")
    elsewhere = f"http://localhost:{viewer.server_port}{viewer.root}"
    assert (
        page.evaluate("to => fetch(to).then(() => 'sent', (error) => error.name)", elsewhere)
        == "TypeError"
    )
    page.close()
