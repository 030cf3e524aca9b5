"""Counting like a tokenizer: the counted pretokens are those whose tokens are the ids of `encode`."""

import json
import pickle
import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tokenizers import AddedToken, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as Theirs

from bpetite import Counts, Tokenizer
from bpetite._engine import CountTable, Encoder
from bpetite._trainer import count_like
from bpetite.encoding import encoder as encoders
from bpetite.formats.shared.difficult import DIFFICULT_TEXTS
from bpetite.specification import added_tokens as specification
from bpetite.specification.normalizer import aligned
from bpetite.vocabulary import Vocabulary
from test_cli import bpetite, check_failed

CORPUS = ["the cat sat on the mat, the cats' mats", "naïve café 北京 12 123", "a  b   c\n\nd"] * 3
BYTES = {
    "pre_tokenizer": pre_tokenizers.ByteLevel(add_prefix_space=False),
    "initial_alphabet": pre_tokenizers.ByteLevel.alphabet(),
}
SPECIAL = AddedToken("<s>", special=True, normalized=False)
SPACES = [AddedToken(" " * length, special=False, normalized=True) for length in (2, 3)]
MASK = AddedToken("<mask>", special=True, lstrip=True, normalized=False)
WORD = AddedToken("cat", special=False, single_word=True, rstrip=True, normalized=True)
KINDS: dict[str, dict[str, Any]] = {
    "GPT-2": {**BYTES, "added": [SPECIAL]},
    "Llama 3": {
        "pre_tokenizer": pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(r"\p{N}{1,3}| ?\p{L}+|\s+", "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        ),
        "initial_alphabet": pre_tokenizers.ByteLevel.alphabet(),
        "added": [SPECIAL],
        "ignore_merges": True,
    },
    "Qwen": {**BYTES, "normalizer": normalizers.NFC(), "added": [SPECIAL]},
    "GPT-NeoX": {**BYTES, "normalizer": normalizers.NFC(), "added": [SPECIAL, *SPACES]},
    "RoBERTa": {**BYTES, "added": [SPECIAL, MASK]},
    "flags of all kinds": {
        **BYTES,
        "normalizer": normalizers.Lowercase(),
        "added": [SPECIAL, MASK, WORD],
    },
    "a space before every piece": {
        "pre_tokenizer": pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(), pre_tokenizers.ByteLevel(add_prefix_space=True)]
        ),
        "initial_alphabet": pre_tokenizers.ByteLevel.alphabet(),
        "added": [SPECIAL],
    },
    "Llama 2": {
        "normalizer": normalizers.Sequence(
            [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
        ),
        "added": [SPECIAL],
        "unk_token": "<unk>",
        "fuse_unk": True,
    },
    "Mistral": {
        "pre_tokenizer": pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
        "added": [SPECIAL, MASK],
        "unk_token": "<unk>",
    },
    "ends of words": {
        "normalizer": normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()]),
        "pre_tokenizer": pre_tokenizers.WhitespaceSplit(),
        "added": [SPECIAL],
        "end_of_word_suffix": "</w>",
        "unk_token": "<unk>",
    },
}
PARTS = ["the", " cat", "Cat", "e\u0301", " ", "  ", "   ", "\n", "12345", "北京", "...", "'s"]
PARTS += ["<s>", "<mask>", "cat", "▁", "é", "<", "s>"]


@pytest.fixture(params=KINDS, scope="module")
def tok(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    """A small file that tokenizers trained."""
    how = dict(KINDS[request.param])
    alphabet, added = how.pop("initial_alphabet", []), how.pop("added")
    steps = {name: how.pop(name) for name in ("normalizer", "pre_tokenizer") if name in how}
    theirs = Theirs(models.BPE(**how))
    for name, step in steps.items():
        setattr(theirs, name, step)
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        show_progress=False,
        initial_alphabet=alphabet,
        special_tokens=["<unk>"] if "unk_token" in how else [],
        **{name: how[name] for name in ("end_of_word_suffix",) if name in how},
    )
    theirs.train_from_iterator(CORPUS, trainer)
    theirs.add_tokens(added)
    path = tmp_path_factory.mktemp("like") / "tokenizer.json"
    theirs.save(str(path))
    return Tokenizer.load(path)


def alone(vocabulary: Vocabulary) -> Encoder:
    """The encoder of single pretokens: without stages before, and without cuts."""

    class Pretokens:
        pattern, normalization = "(?s:.+)", None
        special_tokens: Mapping[str, int] = MappingProxyType({})

        def __getattr__(self, name: str) -> Any:
            return getattr(vocabulary, name)

    return encoders.encoder_of(Pretokens())  # type: ignore[arg-type]


def texts() -> list[str]:
    dice = random.Random(7)
    mixed = ["".join(dice.choices(PARTS, k=dice.randint(1, 20))) for _ in range(400)]
    return [*DIFFICULT_TEXTS, *mixed]


def test_the_ids_of_the_counted_pretokens_are_those_of_the_text(tok: Tokenizer) -> None:
    encoder, compared = alone(tok.vocabulary), 0
    added = tok.vocabulary.special_tokens.values()
    for text in texts():
        try:
            expected = Counter(tok.encode(text))
        except ValueError:
            continue  # It has a character without a token.
        found: Counter[int] = Counter()
        for pretoken, count in Counts.from_iterator([text], tokenizer=tok).items():
            for token_id in encoder.encode(pretoken.decode()):
                found[token_id] += count
        for token_id in added:
            del expected[token_id], found[token_id]
        assert found == expected, text
        compared += bool(expected)
    assert compared > 100


def test_counts_like_a_tokenizer_are_saved_added_and_trained_on(
    tok: Tokenizer, tmp_path: Path
) -> None:
    sample = [text for text in texts() if "<" in text][:60]
    counts = Counts.from_iterator(sample, tokenizer=tok)
    counts.save(tmp_path / "a.counts")
    loaded = Counts.load(tmp_path / "a.counts")
    assert loaded == counts == pickle.loads(pickle.dumps(counts))
    assert Counts.merge([loaded, counts]).total == 2 * counts.total
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in sample))
    assert Counts.from_files(tmp_path / "a.jsonl", tokenizer=tok) == counts
    more = Tokenizer.train_from_counts(loaded, 400)
    assert (more.pattern, more.vocabulary.normalization) == (
        tok.pattern,
        tok.vocabulary.normalization,
    )
    with pytest.raises(ValueError, match=r"a\.counts: counted with the"):
        Tokenizer.train_from_iterator(["ab"], 257, pattern="whitespace").extend(loaded, 5)
    other = Counts(pattern=tok.pattern, normalization=loaded.normalization)
    for one, two in ((other, loaded), (loaded, other)):
        with pytest.raises(ValueError, match="counted with the"):
            Counts.merge([one, two])


def test_added_tokens_divide_documents(tok: Tokenizer) -> None:
    counts = Counts.from_iterator(["a<s>b", "<s>", "", "the cat"], tokenizer=tok)
    assert counts.documents == 3


def test_files_are_cut_where_documents_are_not(tok: Tokenizer, tmp_path: Path) -> None:
    dice = random.Random(8)
    text = "".join(dice.choices([*PARTS, " word", " another", "ab"], k=150_000))
    (tmp_path / "a.txt").write_text(text, encoding="utf-8", newline="")
    whole = Counts.from_iterator([text], tokenizer=tok)
    assert Counts.from_files(tmp_path / "a.txt", tokenizer=tok, num_threads=2) == whole


FLAGS = ("normalized", "single_word", "lstrip", "rstrip")


@given(
    st.text(st.sampled_from("ab <>\nAé"), max_size=40),
    st.dictionaries(
        st.text(st.sampled_from("ab <A"), min_size=1, max_size=3),
        st.sets(st.sampled_from(FLAGS)),
        max_size=4,
    ),
    st.sampled_from([(), (("Lowercase",),), (("Lowercase",), ("Replace", "b", "ab"))]),
)
def test_the_engine_counts_as_specified(
    text: str, tokens: dict[str, set[str]], steps: tuple[tuple[str, ...], ...]
) -> None:
    assume(len({text.lower() for text in tokens}) == len(tokens))
    pattern = r" ?\w+|\s"
    table = CountTable(
        pattern, [], True, steps, [(text, 0, [*flags]) for text, flags in tokens.items()]
    )
    table.add_documents([text])
    joined, ends, counts = table.sorted()
    found = {
        joined[start:end]: count
        for start, end, count in zip(
            [0, *ends.tolist()], ends.tolist(), counts.tolist(), strict=False
        )
    }

    def normalize(text: str) -> Any:
        return aligned(text, steps)

    listed = [
        specification.AddedToken(text, 0, **dict.fromkeys(flags, True))
        for text, flags in tokens.items()
    ]
    assert found == dict(count_like(text, listed, normalize, pattern))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"dialect": "cs336"}, "tokenizer: it decides the dialect"),
        ({"special_tokens": ["<s>"]}, "tokenizer: it decides the special_tokens"),
        ({"normalization": "NFC"}, "tokenizer: it decides the normalization"),
    ],
)
def test_rules_beside_a_tokenizer_are_refused(how: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Counts.from_iterator([], tokenizer=Tokenizer.train("", 256), **how)
    with pytest.raises(TypeError, match="tokenizer must be a Tokenizer, not int"):
        Counts.from_files([], tokenizer=5)  # type: ignore[arg-type]


def test_only_the_pattern_may_be_another() -> None:
    tok = Tokenizer.train_from_iterator(CORPUS, 300, pattern="llama3", normalization="NFC")
    counts = Counts.from_iterator(["a b c", "a\u0301 b"], tokenizer=tok, pattern="superwords")
    assert [pretoken for pretoken, _ in counts.items()] == [b"a b c", "\u00e1 b".encode()]
    longer = tok.extend(counts, 3, pattern="superwords")
    assert longer.pattern == counts.pattern != tok.pattern
    with pytest.raises(ValueError, match="pattern"):
        tok.extend(counts, 3)


def test_the_command_counts_like_a_tokenizer(tmp_path: Path) -> None:
    tok = Tokenizer.train_from_iterator(CORPUS, 300, pattern="llama3", normalization="NFC")
    tok.save(tmp_path / "tok.json")
    (tmp_path / "a.txt").write_text("cafe\u0301 <|endoftext|>12345", encoding="utf-8")
    common = ("count", "--input", tmp_path / "a.txt", "--like", tmp_path / "tok.json", "--output")
    done = bpetite(*common, tmp_path / "a.counts")
    assert done.returncode == 0, done.stderr
    assert b"dialect" not in done.stderr
    counts = Counts.load(tmp_path / "a.counts")
    assert dict(counts.items()) == {"café".encode(): 1, b" ": 1, b"123": 1, b"45": 1}
    assert counts == Counts.from_files(tmp_path / "a.txt", tokenizer=tok)
    refused = bpetite(*common, tmp_path / "b.counts", "--pattern", "gpt2")
    check_failed(refused, "--like decides this, too, so leave out --pattern")


@pytest.mark.parametrize(
    "wrong", [[], {"": []}, {"<s>": "lstrip"}, {"<s>": ["big"]}, {"<s>": [[]]}]
)
def test_a_file_with_other_added_tokens_is_refused(wrong: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.counts"
    Counts.from_iterator(["ab"], tokenizer=Tokenizer.train("", 256)).save(path)
    content = path.read_bytes().replace(b'{"<|endoftext|>": []}', json.dumps(wrong).encode())
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.counts: rules: added_tokens"):
        Counts.load(path)
