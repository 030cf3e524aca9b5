"""Why merges differ: every wrong trainer is told what it does."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import Counts, Dialect, Tokenizer, explain_difference
from bpetite._trainer import train_bpe

CORPUS = "low low low lower lower newest newest newest widest aaaa aaa banana bananas " * 3
TEXTS = st.text("ab ", max_size=30)


@given(TEXTS, st.sampled_from(["cs336", "bpetite", "huggingface", "tiktoken"]))
def test_the_merges_of_the_specification_do_not_differ(text: str, dialect: str) -> None:
    trained = train_bpe(text, 300, dialect=dialect)
    merges = [(trained.vocab[left], trained.vocab[right]) for left, right in trained.merges]
    assert explain_difference(text, merges, dialect=dialect) is None
    assert (
        explain_difference(Counts.from_iterator([text], dialect=dialect), merges, dialect=dialect)
        is None
    )


@given(TEXTS, st.integers(0, 5), st.sampled_from(["cs336", "bpetite"]))
def test_what_is_counted_is_what_the_corpus_holds(text: str, rank: int, dialect: str) -> None:
    trained = train_bpe(text, 300, dialect=dialect)
    merges = [(trained.vocab[left], trained.vocab[right]) for left, right in trained.merges]
    if rank >= len(merges):
        return
    found = explain_difference(text, [*merges[:rank], (b"q", b"q")], dialect=dialect)
    assert found is not None
    assert (found.rank, found.expected, found.your_count) == (rank, merges[rank], 0)
    prefix = Tokenizer.train_from_iterator([text], 256 + len(merges), dialect="bpetite").vocabulary
    if dialect == "bpetite":
        tok = Tokenizer(prefix.truncate(256 + rank))
        pairs: Counter[tuple[int, int]] = Counter()
        for pretoken in tok.pretokens(text):
            pairs.update(pairwise(tok.encode(pretoken.decode(), special="text")))
        assert found.expected_count == max(pairs.values())


def greedy(corpus: str, merges: int, wrong: str) -> list[tuple[bytes, bytes]]:
    """A student's trainer with one mistake."""
    words = [
        [bytes([byte]) for byte in word] for word in Tokenizer.train("", 256).pretokens(corpus)
    ]
    made = []
    for _ in range(merges):
        counts: Counter[tuple[bytes, bytes]] = Counter()
        for word in (
            {tuple(word): word for word in words}.values() if wrong == "distinct" else words
        ):
            counts.update(pairwise(word))
        if wrong == "first":
            best = max(counts, key=lambda pair: counts[pair])
        else:
            best = max(counts, key=lambda pair: (counts[pair], pair))
        made.append(best)
        words = [merged(word, best) for word in words]
    return made


def merged(word: list[bytes], pair: tuple[bytes, bytes]) -> list[bytes]:
    done: list[bytes] = []
    for token in word:
        if done and (done[-1], token) == pair:
            done[-1] += token
        else:
            done.append(token)
    return done


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("first", "if a tie went to the pair that is met first in the corpus"),
        ("distinct", "if each distinct pretoken were counted once"),
    ],
)
def test_a_students_mistake_is_recognised(wrong: str, told: str) -> None:
    found = explain_difference(CORPUS, greedy(CORPUS, 8, wrong))
    assert found is not None
    assert told in found.explanations, str(found)


LONGER = "The cat's hat: the CAT sat. The théâtre, 12345 hats; once!\n<|endoftext|>\n" * 5 + CORPUS
LONGER += " The end of it<|endoftext|>" * 20 + "zq " * 3 + "rare words here"


def learned(documents: list[str], **how: Any) -> list[tuple[bytes, bytes]]:
    rules = Dialect.named("cs336").replace(**how.pop("axes", {}))
    trained = Tokenizer.train_from_iterator(documents, 357, dialect=rules, **how)
    return [
        (trained.token_bytes(left), trained.token_bytes(right)) for left, right in trained.merges
    ]


def learned_stale(adds: bool) -> list[tuple[bytes, bytes]]:
    """Train without ever lowering a count."""
    counted = Counts.from_iterator([LONGER], dialect="cs336").items()
    words = [([bytes([byte]) for byte in word], count) for word, count in counted]
    counts: Counter[tuple[bytes, bytes]] = Counter()
    for word, count in words:
        for pair in pairwise(word):
            counts[pair] += count
    made = []
    for _ in range(60):
        best = max(counts, key=lambda pair: (counts[pair], pair))
        made.append(best)
        del counts[best]
        old, words = words, [(merged(word, best), count) for word, count in words]
        for (before, count), (after, _) in zip(old, words, strict=True):
            if adds and before != after:
                for pair in pairwise(after):
                    counts[pair] += count * (b"".join(best) in pair)
    return made


@pytest.mark.parametrize(
    ("merges", "told"),
    [
        (
            learned([LONGER], axes={"tie_break": "smallest_ids"}),
            "a tie went to the smallest pair of ids",
        ),
        (learned(LONGER.replace("<|endoftext|>", " ").split(), pattern="none"), "white space"),
        (
            learned(
                [word.decode().strip() for word in Tokenizer.train("", 256).pretokens(LONGER)],
                pattern="none",
            ),
            "stripped",
        ),
        (learned([LONGER.lower()]), "lower case"),
        (learned([LONGER], pattern="llama3"), "if the pattern were"),
        (learned([LONGER], min_count=2), "occur once were dropped"),
        (learned_stale(adds=False), "before the first merge only"),
        (learned_stale(adds=True), "takes apart were not lowered"),
        (
            learned([LONGER], axes={"specials_in_corpus": "text"}),
            "special tokens were left in the text",
        ),
    ],
)
def test_the_mistake_that_gives_all_merges_is_named(
    merges: list[tuple[bytes, bytes]], told: str
) -> None:
    found = explain_difference(LONGER, merges)
    assert found is not None
    assert told in found.cause, str(found)
    assert f"Training would give all of your merges {found.cause}." in str(found)
    other = explain_difference(LONGER, [*merges, (b"q", b"q")])
    assert other is not None
    assert other.cause == ""
    assert ("No common mistake was found." in str(other)) == (not other.explanations)


def test_a_mistake_is_also_tried_with_special_tokens_left_in_the_text() -> None:
    text = "<|endoftext|>".join(["The hen Is hot"] * 30)
    found = explain_difference(text, learned([text.lower()], axes={"specials_in_corpus": "text"}))
    assert found is not None
    assert found.cause == "if text were made lower case, and special tokens were left in the text"


def test_the_example_of_the_handout_is_split_at_white_space() -> None:
    corpus = "low " * 5 + "lower " * 2 + "widest " * 3 + "newest " * 6
    merges = [
        "s t",
        "e st",
        "o w",
        "l ow",
        "w est",
        "n e",
        "ne west",
        "w i",
        "wi d",
        "wid est",
        "low e",
        "lowe r",
    ]
    found = explain_difference(corpus, merges)
    assert found is not None
    assert found.cause == "if text were split at white space, which is left out"
    assert explain_difference(corpus, merges, pattern=r"\S+") is None


def test_counting_overlaps_once_is_recognised() -> None:
    found = explain_difference("aaa aaa bc bc bc", [(b"b", b"c")])
    assert found is not None
    assert "if pairs that overlap (aaa) were counted once" in found.explanations
    assert found.reason == "Counted again, the expected pair has 1 more occurrence."


def test_merges_of_any_form_are_read() -> None:
    tok = Tokenizer.train_from_iterator([CORPUS], 280, dialect="cs336")
    pairs = [(tok.token_bytes(left), tok.token_bytes(right)) for left, right in tok.merges]
    printable = [tuple(part.decode().replace(" ", "Ġ") for part in pair) for pair in pairs]
    forms = [
        pairs,
        [(left.decode(), right.decode()) for left, right in pairs],
        printable,
        [" ".join(pair) for pair in printable],
        ["#version: 0.2", *(" ".join(pair) for pair in printable)],
        tok.merges,
        [list(pair) for pair in tok.merges],
    ]
    for form in forms:
        assert explain_difference(CORPUS, form) is None  # type: ignore[arg-type]
    other = explain_difference(
        CORPUS, pairs, dialect=Dialect.named("cs336").replace(tie_break="smallest_ids")
    )
    assert other is not None
    assert other.yours == pairs[other.rank]


@pytest.mark.parametrize(
    ("merges", "says"),
    [
        ([(b"a", "b")], "all of one kind"),
        ([(b"a", b"b", b"c")], "merge 0 must be a pair of bytes"),
        (["a b c"], "merge 0: a line holds two tokens and one space, not 'a b c'"),
        ([(97, 9999)], "merge 0 is not made of ids that earlier merges make: 97 and 9999"),
    ],
)
def test_what_is_no_merge_is_refused(merges: list[tuple[bytes, bytes]], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        explain_difference("ab ab", merges)


def test_a_list_that_goes_on_after_training_has_ended_is_told() -> None:
    found = explain_difference("ab", [(b"a", b"b"), (b"ab", b"c")])
    assert found is not None
    assert (found.expected, found.reason) == (
        None,
        "Training ends here: no pair is left in the corpus.",
    )
    assert "expected  nothing: there are no more merges" in str(found)


def test_the_command_explains(tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text(CORPUS)
    tok = Tokenizer.train_from_iterator([CORPUS], 270, dialect="cs336")
    pairs = [
        (tok.token_bytes(left).decode(), tok.token_bytes(right).decode())
        for left, right in tok.merges
    ]
    (tmp_path / "merges.json").write_text(json.dumps(pairs))
    printable = [(left.replace(" ", "Ġ"), right.replace(" ", "Ġ")) for left, right in pairs[:3]]
    lines = ["#version: 0.2", *(f"{left} {right}" for left, right in [*printable, ("l", "o")]), ""]
    (tmp_path / "merges.txt").write_text("\n".join(lines), "utf-8")
    (tmp_path / "wrong.txt").write_text("a b c\n")

    def explain(merges: str, *more: str) -> subprocess.CompletedProcess[str]:
        command = [
            sys.executable,
            "-m",
            "bpetite",
            "explain",
            "--input",
            "corpus.txt",
            "--merges",
            merges,
        ]
        more = ("--dialect", "cs336", "--quiet", *more)
        return subprocess.run(
            [*command, *more], cwd=tmp_path, capture_output=True, text=True, check=False
        )

    assert explain("merges.json").stdout == f"all {len(pairs)} merges match the dialect cs336\n"
    assert explain("merges.json", "--json").stdout == "null\n"
    told = json.loads(explain("merges.txt", "--json").stdout)
    assert (told["rank"], told["yours"], told["expected"]) == (3, ["l", "o"], list(pairs[3]))
    assert "Merge 3 (from 0) differs" in explain("merges.txt").stdout
    refused = explain("wrong.txt")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "wrong.txt: merge 0: a line holds two tokens" in refused.stderr


def test_only_a_text_tells_what_is_met_first() -> None:
    counts = Counts.from_iterator(["zz aa zz aa"], dialect="cs336")
    for corpus in (counts, ["zz aa zz aa"]):
        found = explain_difference(corpus, [(b"a", b"a")])
        assert found is not None
        assert not any("first" in how for how in found.explanations)
