"""Pairs of `vocab.json` and `merges.txt` that people hold, patterns with `&&`, and JSON of homework."""

import json
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
import regex
import tokenizers
import transformers
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer

from bpetite import Tokenizer, _engine
from bpetite.counts import Counts
from bpetite.formats.shared.difficult import DIFFICULT_TEXTS
from bpetite.patterns import PATTERNS, named_pattern

SMILES = [
    "CC(=O)Oc1ccccc1C(=O)O",
    "CN1C=NC2=C1C(=O)N(C(=O)N2C)C",
    "CCO",
    "c1ccccc1Br",
    "[Na+].[Cl-]",
]
ROBERTA = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
HARD = [
    *DIFFICULT_TEXTS,
    "",
    "  CCO\t\n\n  c1cc ",
    "\0CC\0",
    "CC\r\nO",
    "👩‍👩‍👧 e\u0301 12345 שלום",
    *(
        f"{left}{text}{right}"
        for text in ROBERTA
        for left in ("", " ", "CC")
        for right in ("", " ")
    ),
]


def pair(folder: Path, corpus: list[str], names: list[str], size: int = 90) -> Path:
    """Write the two files of a model that tokenizers trains without a token for each byte."""
    model = tokenizers.Tokenizer(BPE())
    model.pre_tokenizer = ByteLevel(add_prefix_space=False)
    model.train_from_iterator(corpus * 5, BpeTrainer(vocab_size=size, special_tokens=names))
    model.model.save(str(folder))
    return folder


def changed(folder: Path, added: Mapping[str, int] | None = None, lines: str = "") -> None:
    """Add tokens and lines to the two files."""
    ids = json.loads((folder / "vocab.json").read_text("utf-8")) | (added or {})
    (folder / "vocab.json").write_text(json.dumps(ids), encoding="utf-8")
    with (folder / "merges.txt").open("a", encoding="utf-8") as file:
        file.write(lines)


def spelled(folder: Path, *more: str) -> list[str]:
    """Return texts of the tokens' own characters."""
    rng = random.Random(5)
    parts = [*json.loads((folder / "vocab.json").read_text("utf-8")), *more, " ", "\n", "é"]
    return ["".join(rng.choices(parts, k=rng.choice([2, 9, 60]))) for _ in range(60)]


@pytest.mark.parametrize("kind", ["GPT2", "Roberta"])
def test_a_pair_that_lacks_bytes_is_read_as_transformers_reads_it(
    kind: str, tmp_path: Path
) -> None:
    """As ChemBERTa's and PolyCoder's, whose tokens do not include all bytes."""
    pair(tmp_path, SMILES, ROBERTA if kind == "Roberta" else ["<|endoftext|>"])
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": f"{kind}Tokenizer"})
    )
    theirs = getattr(transformers, f"{kind}Tokenizer").from_pretrained(tmp_path)
    tok, refusing = Tokenizer.load(tmp_path, missing="drop"), Tokenizer.load(tmp_path)
    assert any(
        "cannot be encoded unless missing='drop' leaves it out" in one
        for one in refusing.assumptions
    )
    assert any("in a text they are left out" in one for one in tok.assumptions)
    checked = 0
    for text in [*HARD, *SMILES, *spelled(tmp_path, "<|endoftext|>")]:
        if kind == "Roberta" and "<mask>" in text:
            continue  # Whether it takes the space before it is tested with the folders.
        ids = theirs(text, add_special_tokens=False).input_ids
        assert tok.encode(text, add_special_tokens=False) == ids, text
        assert tok.decode(ids) == theirs.decode(ids, clean_up_tokenization_spaces=False)
        with suppress(ValueError):
            assert refusing.encode(text, add_special_tokens=False) == ids
            checked += 1
    assert checked > len(SMILES)
    with pytest.raises(ValueError, match="has a byte for which this vocabulary has no token"):
        refusing.encode("CC\0", add_special_tokens=False)


def test_a_pair_that_lacks_bytes_is_read_by_the_commands(tmp_path: Path) -> None:
    pair(tmp_path, SMILES, ["<|endoftext|>"])
    ids = transformers.GPT2Tokenizer.from_pretrained(tmp_path)("CC(\x01C)").input_ids
    for arguments, expected in (
        (["inspect", tmp_path], "in a text they are left out"),
        (["inspect", tmp_path], "unless --missing drop leaves it out"),
        (["encode", "--model", tmp_path, "--text", "CC(\x01C)", "--missing", "drop"], str(ids)),
        (["check", tmp_path], "tokenizers"),
    ):
        drops = ["--missing", "drop"] if expected.startswith("in a text") else []
        command = [sys.executable, "-m", "bpetite", *map(str, arguments), *drops]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        out = " ".join((done.stdout + done.stderr).split())
        assert expected.replace(" ", "") in out.replace(" ", ""), out


def test_tokens_of_other_characters_are_only_decoded(tmp_path: Path) -> None:
    pair(tmp_path, SMILES, ["<|endoftext|>"])
    changed(tmp_path, {"<中 文>": 200, "ab cd": 201, "中": 202})
    theirs = transformers.GPT2Tokenizer.from_pretrained(tmp_path)
    tok = Tokenizer.load(tmp_path, missing="drop")
    says = "3 of the tokens, such as '<中 文>', have characters that stand for no byte"
    assert any(said.startswith(says) for said in tok.assumptions)
    for text in [*HARD, *spelled(tmp_path)]:
        assert tok.encode(text) == theirs(text).input_ids
    for token_id in (200, 201, 202):
        assert tok.decode([token_id]) == theirs.decode([token_id])


def test_tokens_made_of_characters_are_refused_with_the_remedy(tmp_path: Path) -> None:
    model = tokenizers.Tokenizer(BPE())
    model.train_from_iterator(["łódź", "łódka"] * 5, BpeTrainer(vocab_size=40))
    model.model.save(str(tmp_path))
    with pytest.raises(ValueError, match=r"not byte-level: .* give the model's tokenizer\.json"):
        Tokenizer.load(tmp_path)


def test_a_pair_with_few_merges_is_read(tmp_path: Path) -> None:
    """As those of amino acids and atoms, of which no merge creates most tokens."""
    names = ["<cls>", "<pad>", "<eos>", "<unk>", "<mask>", "<null_1>", "[X1]", "[X2]"]
    ids = {text: number for number, text in enumerate([*names, *"LAGVSERTIDPKQNFYMHWC"])}
    (tmp_path / "vocab.json").write_text(json.dumps(ids))
    for merges in ("#version: 0.2\n", "#version: 0.2\nL A\n"):
        (tmp_path / "merges.txt").write_text(merges)
        ids = {**ids, "LA": len(ids)} if "L A" in merges else ids
        (tmp_path / "vocab.json").write_text(json.dumps(ids))
        theirs = transformers.GPT2Tokenizer.from_pretrained(tmp_path)
        tok = Tokenizer.load(tmp_path, missing="drop")
        assert any(said.startswith("no merge creates 8 of the tokens") for said in tok.assumptions)
        for text in [*HARD, "LALAGVLA", *spelled(tmp_path)]:
            if "<|endoftext|>" not in text:  # which transformers adds
                assert tok.encode(text) == theirs(text).input_ids, text
        named = Tokenizer.load(tmp_path, special_tokens=names, missing="drop")
        assert named.encode("LA<mask>G") == [*tok.encode("LA"), ids["<mask>"], *tok.encode("G")]


def test_merges_with_special_tokens_and_merges_listed_twice_are_read(tmp_path: Path) -> None:
    pair(tmp_path, [*SMILES, "<<ss>>"], ["<s>"], size=70)
    ids = json.loads((tmp_path / "vocab.json").read_text("utf-8"))
    first = (tmp_path / "merges.txt").read_text("utf-8").splitlines()[1]
    changed(tmp_path, {"<s": len(ids)}, f"< s\n<s >\n{first}\n")
    config = {"tokenizer_class": "GPT2Tokenizer", "bos_token": "<s>"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    theirs = transformers.GPT2Tokenizer.from_pretrained(tmp_path, bos_token="<s>")
    tok = Tokenizer.load(tmp_path, missing="drop")
    assert tok.special_tokens["<s>"] == ids["<s>"]
    for text in [*HARD, "<s", "<<s>>", "< s>", "CC<s>CC", *SMILES, *spelled(tmp_path, "<s>")]:
        if "<|endoftext|>" not in text:
            assert tok.encode(text) == theirs(text).input_ids, text


# Sets with &&
# -------------------------------------------------------------------------------------------------

UPPER = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
KIMI = (
    rf"[\p{{Han}}]+|{UPPER}*{LOWER}+{ENDING}|{UPPER}+{LOWER}*{ENDING}"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Kimi's pattern as its model spells it."""

OTHER = r"[a-z\p{Han}&&[^aeiou]]+|[^\s&&[^0-9]]|\s+"
CORPUS = ["The 東京 tower's HELLOworld 中文abc 12345  \r\n é Ünï", "it's 漢字かな交じり WE'LL"]


def matches(pattern: str, text: str) -> Iterator[str]:
    """Yield the pieces that `regex` cuts with set operations."""
    position = 0
    for match in regex.compile(f"(?V1){pattern}").finditer(text):
        yield from (text[position : match.start()], match[0])
        position = match.end()
    yield text[position:]


def test_kimis_pattern_is_read_wherever_a_pattern_is_given(tmp_path: Path) -> None:
    kimi = PATTERNS["kimi-k2"]
    assert named_pattern(KIMI) == named_pattern([KIMI]) == kimi
    tok = Tokenizer.train_from_iterator(CORPUS, 300, pattern=KIMI, special_tokens=[])
    assert tok.pattern == kimi
    assert Counts.from_iterator(CORPUS, pattern=KIMI) == Counts.from_iterator(
        CORPUS, pattern="kimi-k2"
    )
    (tmp_path / "corpus.txt").write_text("\n".join(CORPUS), encoding="utf-8")
    trained, listed = tmp_path / "a.json", tmp_path / "a.tiktoken"
    corpus = str(tmp_path / "corpus.txt")
    options = ["--vocab-size", "300", "--pattern", KIMI, "--output", str(trained)]
    command = [sys.executable, "-m", "bpetite", "train", "--input", corpus, *options]
    subprocess.run(command, check=True, capture_output=True)
    assert Tokenizer.load(trained, pattern=KIMI).pattern == kimi
    Tokenizer.train_from_iterator(
        CORPUS, 300, dialect="tiktoken", pattern=KIMI, special_tokens=[]
    ).to_tiktoken(listed)
    for again in (
        Tokenizer.load(listed, pattern=KIMI),
        Tokenizer.from_tiktoken(listed, pattern=KIMI),
    ):
        assert again.pattern == kimi
        again.save(tmp_path / "again.json", overwrite=True)
        assert Tokenizer.load(tmp_path / "again.json").pattern == kimi
    again.to_huggingface(tmp_path / "tokenizer.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in [*CORPUS, *DIFFICULT_TEXTS]:
        assert again.encode(text) == theirs.encode(text).ids


@pytest.mark.parametrize("pattern", [KIMI, OTHER])
def test_intersections_cut_as_regex_cuts(pattern: str) -> None:
    rng = random.Random(3)
    parts = [
        "a",
        "B",
        "東",
        "か",
        "é",
        "e\u0301",
        " ",
        "\n",
        "\r\n",
        "1",
        "'s",
        "'LL",
        "-",
        "&",
        "[",
        "👍🏽",
        "ʰ",
    ]
    texts = [*CORPUS, *DIFFICULT_TEXTS, *("".join(rng.choices(parts, k=40)) for _ in range(300))]
    for text in texts:
        expected = [piece.encode() for piece in matches(pattern, text) if piece]
        assert _engine.pretokenize(text, named_pattern(pattern)) == expected, text


@pytest.mark.parametrize(
    "pattern", [r"[a-z&&[^b]]+$", r"[\w&&[^b]]", r"\b[a-z&&[^b]]", r"[a&&b]", r"[a--[b]]"]
)
def test_what_engines_read_differently_is_still_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="engines read it differently"):
        Tokenizer.train_from_iterator(CORPUS, 300, pattern=pattern)


def test_ampersands_that_are_no_operator_stay() -> None:
    assert named_pattern(r"a&&[bc]") == r"a&&[bc]"
    assert _engine.pretokenize("a&&b", named_pattern(r"a&&[bc]")) == [b"a&&b"]
