"""Files of changed vocabularies give the same ids in their own libraries, whatever left, moved or is new."""

import base64
import itertools
import json
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tokenizers
from tokenizers import AddedToken, decoders, models, pre_tokenizers, processors, trainers

from bpetite import Tokenizer, Vocabulary
from bpetite.encoding.encoder import encoder_of
from bpetite.formats.editing import check_edited, edited
from bpetite.formats.shared.peers import _tekken_encode
from bpetite.patterns import PATTERNS
from bpetite.surgery import pruning
from test_any_tokenizer_json import CORPUS, check_same, made, texts
from test_sentencepiece import TEXTS as TEXTS_OF_PIECES
from test_sentencepiece import TRAININGS, trained

pytestmark = pytest.mark.peers

FAR = 10**6
"""The ids of provisional tokens, beyond those of new ones."""


def joined(tokenizer: Tokenizer, moved: Mapping[int, int], number: int) -> Vocabulary:
    """The vocabulary of the tokens in `moved` with new ones of the most frequent neighbours."""
    vocabulary = pruning.with_ids(tokenizer.vocabulary, {**moved, FAR: FAR})
    apart = {*vocabulary.provisional, *vocabulary.special_tokens.values(), *vocabulary.decode_only}
    if vocabulary.unknown:
        apart.add(vocabulary.unknown[0])
    if vocabulary.provisional:
        apart.update(vocabulary.id_of_byte.values())
    free = iter(sorted(set(range(len(moved) + number)).difference(moved.values())))
    for _ in range(number):
        alone = encoder_of(
            replace(
                vocabulary,
                normalization=None,
                pattern=PATTERNS["none"],
                special_tokens={},
                added_tokens=[],
                token_flags={},
            )
        )
        pairs: Counter[tuple[int, int]] = Counter()
        for text in CORPUS:
            for pretoken in Tokenizer(vocabulary).pretokens(text):
                try:
                    ids = alone.encode(pretoken.decode())
                except ValueError:
                    continue
                pairs.update(itertools.pairwise(ids))
        known = {*vocabulary.tokens.values(), *vocabulary.decode_only.values()}
        known.update(text.encode() for text in vocabulary.special_tokens)
        for left, right in sorted(pairs, key=lambda pair: (-pairs[pair], pair)):
            if apart.isdisjoint((left, right)):
                token = vocabulary.tokens[left] + vocabulary.tokens[right]
                if token not in known:
                    break
        else:
            return vocabulary
        own = next(free)
        vocabulary = replace(
            vocabulary,
            tokens=dict(sorted({**vocabulary.tokens, own: token}.items())),
            merges=[*vocabulary.merges, (left, right)],
            merge_ids=[*vocabulary.merge_ids, own],
        )
    return vocabulary


@pytest.mark.parametrize("seed", range(10))
def test_changed_files_give_the_ids_of_tokenizers(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    path = tmp_path / "tokenizer.json"
    changed = 0
    for _ in range(12):
        path.write_text(made(chance, marks_words=0.3).to_str(), "utf-8")
        try:
            tok = Tokenizer.load(path)
        except ValueError:
            continue
        vocabulary = tok.vocabulary
        of_all = pruning.Pruning(vocabulary)
        number = chance.randrange(len(of_all.removable) + 1)
        uses = {own: chance.randrange(9) for own in vocabulary.tokens}
        removed = of_all.least_used(uses, number)
        _, moved = of_all.without(removed, closes=chance.random() < 0.6)
        after = joined(tok, moved, chance.choice([0, 0, 5]))
        files = edited(tok._original_of("huggingface"), after, moved)  # type: ignore[arg-type]
        theirs = tokenizers.Tokenizer.from_str(files.content.decode("utf-8"))
        check_same(Tokenizer(after, tok.assumptions), theirs, texts(chance))
        for text, own in after.special_tokens.items():
            assert theirs.token_to_id(text) == own
        changed += 1
    assert changed


def byte_level(**options: Any) -> Any:
    """A tokenizer with a template, padding, and added tokens of both kinds."""
    real = tokenizers.Tokenizer(models.BPE())
    real.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    real.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, show_progress=False, initial_alphabet=alphabet)
    real.train_from_iterator(CORPUS, trainer)
    real.add_special_tokens(["<s>", "</s>", "<pad>"])
    real.add_tokens([AddedToken("<user>", lstrip=True)])
    ids: Any = {text: real.token_to_id(text) for text in ("<s>", "</s>", "<pad>")}
    template = {"single": "<s> $A </s>", "pair": "<s> $A </s> $B </s>"}
    specials = [(text, ids[text]) for text in ("<s>", "</s>")]
    real.post_processor = processors.TemplateProcessing(**template, special_tokens=specials)
    if options.get("bert"):
        real.post_processor = processors.BertProcessing(specials[1], specials[0])
    real.enable_padding(pad_id=ids["<pad>"], pad_token="<pad>")
    return real


@pytest.mark.parametrize("bert", [False, True])
def test_templates_padding_and_configuration_move_along(bert: bool, tmp_path: Path) -> None:
    real = byte_level(bert=bert)
    folder = tmp_path / "model"
    folder.mkdir()
    real.save(str(folder / "tokenizer.json"))
    specials = [real.token_to_id(text) for text in ("<s>", "</s>", "<pad>", "<user>")]
    decoder = {str(own): {"content": real.id_to_token(own), "special": True} for own in specials}
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "added_tokens_decoder": decoder}
    settings |= {"bos_token": "<s>", "chat_template": "{{ x }}"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "added_tokens.json").write_text(json.dumps({"<pad>": specials[2]}))
    tok = Tokenizer.load(folder)
    smaller, token_map = tok.prune(CORPUS, 350)
    assert smaller.assumptions == tok.assumptions
    smaller.save_folder(tmp_path / "smaller")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "smaller" / "tokenizer.json"))
    new_ids = [token_map[own] for own in specials]
    assert new_ids == [346, 347, 348, 349]
    assert [theirs.token_to_id(real.id_to_token(own)) for own in specials] == new_ids
    for text in CORPUS:
        found = theirs.encode(text)
        assert found.ids == smaller.encode(text, add_special_tokens=True)
        assert theirs.decode(found.ids, skip_special_tokens=False) == f"<s>{text}</s>"
    padded = theirs.encode_batch(["a", "the quick brown"])[0].ids
    assert padded[-1] == 348
    written = json.loads((tmp_path / "smaller" / "tokenizer_config.json").read_text())
    assert {
        int(own): token["content"] for own, token in written["added_tokens_decoder"].items()
    } == {new: real.id_to_token(own) for own, new in zip(specials, new_ids, strict=True)}
    assert (written["chat_template"], written["bos_token"]) == ("{{ x }}", "<s>")
    assert json.loads((tmp_path / "smaller" / "added_tokens.json").read_text()) == {"<pad>": 348}
    assert Tokenizer.load(tmp_path / "smaller").encode(
        "the<s>", add_special_tokens=False
    ) == smaller.encode("the<s>", add_special_tokens=False)


def test_replaced_tokens_take_the_freed_ids_of_the_file(tmp_path: Path) -> None:
    real = byte_level()
    real.save(str(tmp_path / "tokenizer.json"))
    tok = Tokenizer.load(tmp_path / "tokenizer.json")
    other, token_map = tok.replace(["unheard of, unheard of words"] * 9, 8)
    assert sorted(other.get_vocab().values()) == sorted(tok.get_vocab().values())
    assert sorted(token_map.parts) == [old for old, new in token_map.ids.items() if new is None]
    other.to_huggingface(tmp_path / "other.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "other.json"))
    for text in [*CORPUS, "unheard of words"]:
        assert theirs.encode(text).ids == other.encode(text, add_special_tokens=True)
    assert token_map.rows([[1.0]] * token_map.old_size).shape == (token_map.old_size, 1)
    for token_id, parts in token_map.parts.items():
        assert b"".join(map(tok.token_bytes, parts)) == other.token_bytes(token_id)


def test_a_file_that_would_be_another_tokenizer_is_refused(tmp_path: Path) -> None:
    byte_level().save(str(tmp_path / "tokenizer.json"))
    tok = Tokenizer.load(tmp_path / "tokenizer.json")
    original: Any = tok._original
    with pytest.raises(
        ValueError, match=r"tokenizer.json would not be .*: its tokens would differ"
    ):
        check_edited(original, tok.prune(CORPUS, 350)[0].vocabulary)
    added = tok.add_tokens(["<x>"], special=True).vocabulary
    with pytest.raises(ValueError, match=r"its special_tokens would differ"):
        check_edited(original, added)


@pytest.mark.parametrize("name", TRAININGS)
@pytest.mark.parametrize("new", [0, 6])
def test_a_changed_model_of_sentencepiece_gives_its_ids(
    name: str, new: int, tmp_path: Path
) -> None:
    (tmp_path / "tokenizer.model").write_bytes(trained(name))
    tok = Tokenizer.load(tmp_path / "tokenizer.model")
    _, token_map = tok.prune(CORPUS, tok.vocab_size - 120)
    moved = {old: own for old, own in token_map.ids.items() if own is not None}
    after = joined(tok, moved, new)
    files = edited(tok._original_of("sentencepiece"), after, moved)  # type: ignore[arg-type]
    theirs = sentencepiece.SentencePieceProcessor(model_proto=files.content)
    assert theirs.get_piece_size() == tok.vocab_size - 120 + new
    ours = Tokenizer(after)
    used = set()
    for text in TEXTS_OF_PIECES:
        assert ours.encode(text) == theirs.encode(text)
        used.update(ours.encode(text))
    assert not new or not used.isdisjoint(range(tok.vocab_size - 120, theirs.get_piece_size()))
    files.write_file(tmp_path / "changed.model", overwrite=False)
    assert Tokenizer.load(tmp_path / "changed.model").encode("the<s>") == ours.encode("the<s>")


def test_a_model_of_sentencepiece_cannot_have_holes(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.model").write_bytes(trained("llama"))
    tok = Tokenizer.load(tmp_path / "tokenizer.model")
    kept, _ = tok.prune(CORPUS, tok.vocab_size - 120, ids="keep")
    assert "its ids are places, and no token would have id" in kept.assumptions[-1]
    with pytest.raises(ValueError, match="it cannot be written back"):
        kept.save_original(tmp_path / "kept.model")
    kept.save(tmp_path / "kept.json")
    assert Tokenizer.load(tmp_path / "kept.json") == kept


def tekken(tmp_path: Path) -> Tokenizer:
    """A tokenizer of a `tekken.json` with more ranks than it uses."""
    tok = Tokenizer.train_from_iterator(CORPUS, 400, dialect="tiktoken", special_tokens=[])
    entries = []
    for rank, token in tok.vocabulary.tokens.items():
        spelled = base64.b64encode(token).decode()
        entries.append({"rank": rank, "token_bytes": spelled, "token_str": None})
    config = {"pattern": tok.pattern, "default_vocab_size": 395, "default_num_special_tokens": 4}
    specials = [{"rank": rank, "token_str": f"<{rank}>", "is_control": True} for rank in range(4)]
    document = {"config": config, "vocab": entries, "special_tokens": specials, "version": "v7"}
    (tmp_path / "tekken.json").write_text(json.dumps(document), "utf-8")
    return Tokenizer.load(tmp_path / "tekken.json")


@pytest.mark.parametrize("new", [0, 6])
def test_a_changed_tekken_file_gives_the_ids_of_its_ranks(new: int, tmp_path: Path) -> None:
    tok = tekken(tmp_path)
    _, token_map = tok.prune(CORPUS[3:], 350)
    moved = {old: own for old, own in token_map.ids.items() if own is not None}
    after = joined(tok, moved, new)
    files = edited(tok._original_of("tekken"), after, moved)  # type: ignore[arg-type]
    theirs = _tekken_encode(files.content, after)
    ours = Tokenizer(after)
    for text in CORPUS:
        assert ours.encode_ordinary(text) == theirs(text)
    document = json.loads(files.content)
    assert document["config"]["default_vocab_size"] == 350 + new == len(document["vocab"]) + 4
    assert (document["version"], len(document["special_tokens"])) == ("v7", 4)


def test_a_tekken_file_cannot_have_holes_and_reused_ids(tmp_path: Path) -> None:
    tok = tekken(tmp_path)
    kept, _ = tok.prune(tokens=[b" the"], ids="keep")
    other, token_map = tok.replace([*CORPUS, " the" * 99, "zebras and quaggas" * 50], 3)
    assert min(token_map.parts) < tok.largest_id - 9
    for changed in (kept, other):
        assert "its ids are ranks: there can be no holes" in changed.assumptions[-1]
        assert (
            "a tokenizer.json, as to_huggingface writes it, can hold it" in changed.assumptions[-1]
        )
        changed.to_huggingface(tmp_path / "tokenizer.json", overwrite=True)
        theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
        for text in CORPUS:
            assert theirs.encode(text).ids == changed.encode(text, add_special_tokens=True)


@pytest.mark.parametrize(
    ("vocab", "added"),
    [
        ({"<x>": 10}, [("<x>", 10), ("<y>", 3), ("<z>", 4)]),
        ({"c": 9}, [("<y>", 3), ("a", 0), ("<z>", 4)]),
        ({"c": 9, "<x>": 8}, [("<y>", 4), ("<x>", 8), ("<z>", 5)]),
    ],
)
def test_added_tokens_behind_holes_have_the_ids_of_tokenizers(
    vocab: dict[str, int], added: list[tuple[str, int]], tmp_path: Path
) -> None:
    document = json.loads(tokenizers.Tokenizer(models.BPE()).to_str())
    document["model"]["vocab"] = {"a": 0, "b": 1, **vocab}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    document["added_tokens"] = [
        {"id": own, "content": text, "special": True, **flags} for text, own in added
    ]
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document))
    theirs = tokenizers.Tokenizer.from_file(str(path))
    tok = Tokenizer.load(path)
    for text, own in added:
        assert theirs.token_to_id(text) == tok.special_tokens[text] == own
    larger = tok.add_tokens(["<new>"], special=True)
    larger.to_huggingface(tmp_path / "larger.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "larger.json"))
    assert theirs.token_to_id("<new>") == larger.special_tokens["<new>"] == tok.largest_id + 1
