"""Pairs of `vocab.json` and `merges.txt` that people hold, patterns with `&&`, and JSON of homework."""

import base64
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

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
from bpetite.formats.shared.printable import to_printable
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


@pytest.mark.parametrize("names", [["<s>", "<pad>", "</s>", "<unk>"], ["<unk>"]])
def test_a_pair_of_pieces_is_read_as_tokenizers_reads_it(names: list[str], tmp_path: Path) -> None:
    """As SentencePieceBPETokenizer saves it, with U+2581 for spaces."""
    corpus = ["the cat sat on the mat", "der Bär łódź 東京 é 12"] * 5
    model = tokenizers.SentencePieceBPETokenizer()
    model.train_from_iterator(corpus, vocab_size=120, special_tokens=names, show_progress=False)
    model.save_model(str(tmp_path))
    files = [str(tmp_path / name) for name in ("vocab.json", "merges.txt")]
    theirs = tokenizers.SentencePieceBPETokenizer.from_file(*files)
    theirs.add_special_tokens(names)
    for source in (tmp_path, *files):
        tok = Tokenizer.load(source, special_tokens=names)
        assert any(
            "as SentencePieceBPETokenizer of tokenizers does" in one for one in tok.assumptions
        )
        for text in [*HARD, *corpus, "<s>the<unk> cat", "▁the ▁ cat", *spelled(tmp_path)]:
            expected = theirs.encode(text, add_special_tokens=False)
            ids, spans = tok.encode_with_offsets(text)
            assert ids == expected.ids, text
            assert tok.decode(ids) == theirs.decode(ids, skip_special_tokens=False)
            assert spans == expected.offsets, text
    config = {"additional_special_tokens": ["<new>", "<s>"]}
    (tmp_path / "special_tokens_map.json").write_text(json.dumps(config))
    more = Tokenizer.load(tmp_path)
    theirs.add_special_tokens(["<new>", "<s>"])
    assert more.encode("the<new> cat<s>") == theirs.encode("the<new> cat<s>").ids
    more.save_folder(tmp_path / "saved")
    assert Tokenizer.load(tmp_path / "saved").encode("the<new>") == more.encode("the<new>")


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


# JSON of no library
# -------------------------------------------------------------------------------------------------

END = "<|endoftext|>"


def homework() -> tuple[dict[int, bytes], list[tuple[bytes, bytes]], Tokenizer]:
    """Return a vocabulary as a student's program has it, and the tokenizer that it should be."""
    texts = [*CORPUS, "the cat's hat, the mat's cat " * 3]
    vocab, merges = {}, []
    tok = Tokenizer.train_from_iterator(texts, 290, dialect="cs336", special_tokens=[END])
    vocab = {
        **tok.vocabulary.tokens,
        **{number: text.encode() for text, number in tok.special_tokens.items()},
    }
    merges = [(vocab[left], vocab[right]) for left, right in tok.vocabulary.merges]
    return vocab, merges, tok


SPELLINGS: dict[str, Callable[[bytes], Any]] = {
    "lists": list,
    "hexadecimal": bytes.hex,
    "base64": lambda token: base64.b64encode(token).decode(),
    "Latin-1": lambda token: token.decode("latin-1"),
    "printable": to_printable,
    "literals": repr,
}


def check_same(tok: Tokenizer, expected: Tokenizer) -> None:
    assert tok.special_tokens == expected.special_tokens
    assert any("the file is of no library" in said for said in tok.assumptions)
    for text in [*HARD, *CORPUS, f"the{END} cat {END}", END]:
        ids = expected.encode(text)
        assert tok.encode(text) == ids, text
        assert tok.decode(ids) == text


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_vocabulary_of_homework_is_read(spelling: str, tmp_path: Path) -> None:
    vocab, merges, expected = homework()
    spell = SPELLINGS[spelling]
    tokens = {number: spell(token) for number, token in vocab.items()}
    pairs = [[spell(left), spell(right)] for left, right in merges]
    path = tmp_path / "mine.json"
    documents: list[dict[str, Any]] = [{"vocab": tokens, "merges": pairs, "special_tokens": [END]}]
    documents += [{"vocab": [[number, token] for number, token in tokens.items()], "merges": pairs}]
    if spelling != "lists":
        documents += [
            {"token_to_id": {text: number for number, text in tokens.items()}, "merges": pairs}
        ]
    for document in documents:
        path.write_text(json.dumps(document, indent=1))
        check_same(Tokenizer.load(path), expected)
    for name, content in (("vocab.json", tokens), ("merges.json", pairs)):
        (tmp_path / name).write_text(json.dumps(content))
    for source in (tmp_path, tmp_path / "vocab.json", tmp_path / "merges.json"):
        path.unlink(missing_ok=True)
        check_same(Tokenizer.load(source), expected)
    if spelling not in ("lists", "Latin-1", "literals"):
        (tmp_path / "merges.json").unlink()
        (tmp_path / "merges.txt").write_text(
            "".join(f"{left} {right}\n" for left, right in pairs), "utf-8"
        )
        check_same(Tokenizer.load(tmp_path), expected)
    saved = tmp_path / "saved"
    Tokenizer.load(source if source.exists() else tmp_path).save_original(saved)
    check_equal = Tokenizer.load(saved)
    assert check_equal.encode("the cat") == expected.encode("the cat")


def named_pair(folder: Path, vocab: str, merges: str) -> Tokenizer:
    """Write a vocabulary as lists of bytes and printed merges, with names of one's own."""
    tok = Tokenizer.train("the cat sat on the mat " * 3, 270)
    tok.to_gpt2(folder / vocab, folder / merges)
    listed = {str(token_id): [*token] for token_id, token in tok.vocabulary.tokens.items()}
    (folder / vocab).write_text(json.dumps(listed))
    return tok


NAMES = [
    ("vocab_owt.json", "merges_owt.txt"),
    ("owt_vocab.json", "owt_merges.txt"),
    ("bpe-vocab-32k.json", "bpe-merges-32k.txt"),
    ("vocab_owt.json", "merges_owt.json"),
]


@pytest.mark.parametrize(("vocab", "merges"), NAMES)
def test_a_pair_with_names_of_its_own_is_read(vocab: str, merges: str, tmp_path: Path) -> None:
    tok = named_pair(tmp_path, vocab, merges)
    if merges.endswith(".json"):
        lines = (tmp_path / merges).read_text("utf-8").split("\n")[1:-1]
        (tmp_path / merges).write_text(json.dumps(lines))
    (tmp_path / "README.md").write_text("homework")
    for source in (tmp_path, tmp_path / vocab, tmp_path / merges):
        again = Tokenizer.load(source)
        assert (again.vocabulary.tokens, again.merges) == (tok.vocabulary.tokens, tok.merges)
    assert Tokenizer.from_gpt2(tmp_path / vocab, tmp_path / merges) == again
    again.save_original(tmp_path / "copy/")
    assert Tokenizer.load(tmp_path / "copy") == again


def test_of_several_pairs_none_is_read_from_their_folder(tmp_path: Path) -> None:
    for vocab, merges in NAMES[:2]:
        named_pair(tmp_path, vocab, merges)
    named = "owt_vocab.json and owt_merges.txt, vocab_owt.json and merges_owt.txt"
    with pytest.raises(
        FileNotFoundError, match=f"there are several others, give one of them: {named}"
    ):
        Tokenizer.load(tmp_path)
    tok = Tokenizer.train("the cat", 257)
    tok.to_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")
    read = Tokenizer.load(tmp_path)
    assert read.merges == tok.merges
    left = "owt_vocab.json, owt_merges.txt, vocab_owt.json, merges_owt.txt"
    assert f"of the folder, vocab.json and merges.txt are read, not {left}" in read.assumptions


def test_a_file_with_the_name_of_merges_is_read_alone_where_it_holds_all(tmp_path: Path) -> None:
    (tmp_path / "merges_owt.json").write_text('{"merges": [[97, 98]]}')
    assert Tokenizer.load(tmp_path / "merges_owt.json").merges == ((97, 98),)
    (tmp_path / "merges_owt.json").unlink()
    named_pair(tmp_path, "vocab_owt.json", "merges_tiny.txt")
    with pytest.raises(
        ValueError, match=r"it holds ids, but no merges, and merges_owt\.txt is not"
    ):
        Tokenizer.load(tmp_path / "vocab_owt.json")


def test_pairs_of_ids_are_read(tmp_path: Path) -> None:
    texts = [*CORPUS, "the cat's hat, the mat's cat " * 3]
    expected = Tokenizer.train_from_iterator(texts, 290, dialect="bpetite", special_tokens=[END])
    path = tmp_path / "mine.json"
    pairs, last = list(expected.vocabulary.merges), dict(expected.special_tokens)
    tokens = {number: list(token) for number, token in expected.vocabulary.tokens.items()}
    numbered = list(enumerate(pairs, 256))
    for document in (
        {"merges": [list(pair) for pair in pairs], "specials": last},
        {"merges": [[list(pair), number] for number, pair in numbered], "special_to_id": last},
        {
            "merges": {f"{left},{right}": number for number, (left, right) in numbered},
            "specials": last,
        },
        {"merges": {str(pair): number for number, pair in numbered}, "special_tokens": last},
        {
            "merges": [[*pair, number] for number, pair in numbered],
            "vocab": tokens,
            "specials": last,
        },
    ):
        path.write_text(json.dumps(document))
        check_same(Tokenizer.load(path), expected)
    vocab, _, first = homework()
    listed = {
        "vocab": {number: list(token) for number, token in vocab.items()},
        "merges": [list(pair) for pair in first.vocabulary.merges],
    }
    path.write_text(json.dumps(listed))
    check_same(Tokenizer.load(path), first)
    path.write_text(json.dumps({f"{left},{right}": number for number, (left, right) in numbered}))
    assert Tokenizer.load(path).encode("the cat") == expected.encode("the cat")
    path.write_text(json.dumps({"merges": [[97, 98], [256, 32], [257, 97]], "pattern": "none"}))
    assert Tokenizer.load(path).encode("ab abab") == [257, 256, 256]
    path.write_text(json.dumps({"merges": [[97, 98], [256, 32], [257, 97]]}))
    with pytest.raises(ValueError, match="the model has another pattern; give it"):
        Tokenizer.load(path)
    assert Tokenizer.load(path, pattern="none").encode("ab abab") == [257, 256, 256]


def test_a_vocabulary_of_keras_is_read(tmp_path: Path) -> None:
    """KerasHub's BytePairTokenizer saves GPT-2's two files, one of them under another name."""
    expected = Tokenizer.train_from_iterator(
        CORPUS, 300, dialect="huggingface", special_tokens=[END]
    )
    assets = tmp_path / "assets" / "tokenizer"
    assets.mkdir(parents=True)
    expected.to_gpt2(assets / "vocabulary.json", assets / "merges.txt")
    for source in (assets, assets / "vocabulary.json", assets / "merges.txt"):
        assert Tokenizer.load(source) == expected
    config = {"module": "keras_hub.src", "class_name": "GPT2Tokenizer", "config": {"name": "a"}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(config))
    with pytest.raises(
        ValueError, match=r"'GPT2Tokenizer' of Keras; give the folder .* assets/tokenizer"
    ):
        Tokenizer.load(tmp_path)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (
            {"vocab": {"a": 0, "b": 1}, "merges": [["a", "b"]]},
            "does not say which bytes its tokens are",
        ),
        (
            {"vocab": {"0": [97], "1": [300]}, "merges": [[[97], [97]]]},
            "token 1 is .300., not bytes",
        ),
        (
            {"vocab": {"0": [97], "x": [98]}, "merges": [[[97], [98]]]},
            "'x' is not the id of a token",
        ),
        (
            {"vocab": {"0": [97], "1": [98]}, "merges": [[[97], [98]]]},
            "join them to what is not a token",
        ),
        ({"vocab": {"0": [97], "1": [97]}, "merges": []}, "the ids 0 and 1 are given to 'a'"),
        ({"vocab": {"0": [97], "00": [98]}, "merges": []}, "two of its tokens have the same id"),
        ({"vocab": [[0, "a"], [0, "b"]], "merges": []}, "two of its tokens have the same id"),
        ({"vocab": ["("] * 3 + ["b" + "-" * 9**5], "merges": []}, "does not say which bytes"),
        ({"vocab": 5, "merges": []}, "its tokens are an integer"),
        ({"vocab": {"0": [97]}, "merges": 5}, "its merges are an integer"),
        ({"merges": [["a", "b"]]}, "it has merges, but not of ids, and no tokens"),
        ({"merges": [[97, 300]]}, "merge 0 is 97 and 300, of which one is not a token yet"),
        ({"vocab": {"0": [97]}, "merges": [[10**12, "a"]]}, "are no pairs of its tokens"),
        ({"merges": [[97, 98, 99]]}, "merge 0 makes b'ab', but token 99 is b'c'"),
        ({"merges": [[97, 98]], "specials": {"<s>": 97}}, "id 97 is given to '<s>' and b'a'"),
        ({"merges": [[97, 98]], "specials": ["<s>"]}, "specials: '<s>' is no token with an id"),
        ({"merges": [[97, 98]], "specials": "<s>"}, "specials: '<s>' is no token with an id"),
        (
            {"config": {}, "tokenization": "REMI", "miditok_version": "3.0.6"},
            "of MidiTok, for music",
        ),
    ],
)
def test_what_json_does_not_say_is_refused(document: Any, message: str, tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match=message) as refused:
        Tokenizer.load(tmp_path / "mine.json")
    assert str(refused.value).startswith(str(tmp_path / "mine.json"))
