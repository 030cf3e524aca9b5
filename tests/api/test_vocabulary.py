"""What a vocabulary is, and everything that it refuses to be."""

import copy
import dataclasses
import hashlib
import json
import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from bpetite import Counts, Tokenizer
from bpetite._persistence import artifact_bytes, vocabulary_of
from bpetite.dialect import DIALECTS, Dialect
from bpetite.formats import huggingface
from bpetite.training import extend_vocabulary
from bpetite.vocabulary import Arrays, Vocabulary

BASE = {byte: bytes([byte]) for byte in range(256)}


def test_rank_and_id_are_two_things() -> None:
    vocabulary = Vocabulary(BASE | {300: b"ab", 299: b"abc"}, [(97, 98), (300, 99)])
    assert vocabulary.merge_ids == (300, 299)


def test_base_ids_may_be_any_permutation_and_have_gaps() -> None:
    tokens = {1000 - 3 * byte: bytes([byte]) for byte in range(256)}
    vocabulary = Vocabulary(tokens, [])
    assert vocabulary.base_ids[5] == 985
    assert vocabulary.vocab_size == 256


def test_equal_tokens_take_their_ids_in_the_order_of_merges() -> None:
    tokens = BASE | {256: b"ab", 257: b"bc", 258: b"abc", 259: b"abc"}
    vocabulary = Vocabulary(tokens, [(97, 98), (98, 99), (256, 99), (97, 257)])
    assert vocabulary.merge_ids == (256, 257, 258, 259)
    shared = Vocabulary(BASE | {256: b"ab", 257: b"bc", 258: b"abc"}, vocabulary.merges)
    assert shared.merge_ids == (256, 257, 258, 258)


@pytest.mark.parametrize(
    ("tokens", "merges", "specials", "message"),
    [
        ({k: v for k, v in BASE.items() if k != 7}, [], {}, "lack byte 7"),
        (BASE | {256: b"a"}, [], {}, "byte 97 has two ids, 97 and 256"),
        (BASE | {256: b""}, [], {}, "token 256 is empty"),
        (BASE | {-1: b"ab"}, [(97, 98)], {}, "between 0 and"),
        (BASE | {2**32: b"ab"}, [(97, 98)], {}, "between 0 and"),
        ({0.5 + byte: bytes([byte]) for byte in range(256)}, [], {}, "integers"),
        (BASE, [(97, 98)], {}, "makes b'ab', which is not a token"),
        (BASE | {256: b"ab"}, [(97, 98), (97, 98)], {}, "pair .97, 98. is given twice"),
        (BASE | {256: b"ab"}, [(97, 300)], {}, "id 300, which no token has"),
        (BASE | {256: b"abc", 257: b"bc"}, [(97, 257), (98, 99)], {}, "no earlier merge makes"),
        (BASE, [], {"x": 5}, "id 5 is given twice"),
        (BASE, [], {"x": 256, "y": 256}, "id 256 is given twice"),
        (BASE, [], {"": 256}, "non-empty"),
        (BASE, [], {"\ud800": 256}, "surrogates not allowed"),
        (BASE, [], {"x": True}, "must be an integer"),
    ],
)
def test_a_broken_vocabulary_is_refused(
    tokens: Mapping[int, bytes], merges: Sequence[Any], specials: Mapping[str, int], message: str
) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        Vocabulary(tokens, merges, specials)


def test_a_vocabulary_cannot_be_changed() -> None:
    vocabulary = Vocabulary(dict(BASE), [])
    with pytest.raises(AttributeError):
        vocabulary.merges = []  # type: ignore[misc]  # the point of the test
    with pytest.raises(TypeError):
        vocabulary.tokens[0] = b"x"  # type: ignore[index]  # the point of the test


class Polite(Tokenizer):
    """A subclass of `Tokenizer`."""


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))]
)
def test_copies_are_equal_and_of_the_same_kind(again: Callable[[Any], Any]) -> None:
    trained = Polite.train_from_iterator(["ab ab abc"], 260, dialect="cs336", min_count=1)
    given = Vocabulary(
        BASE | {300: b"ab"}, [(97, 98)], {"<x>": 7000}, added_tokens=["<x>"], normalization="NFC"
    )
    for vocabulary in (trained.vocabulary, given):
        copied = again(vocabulary)
        assert copied == vocabulary
        assert hash(copied) == hash(vocabulary)
        assert copied.fingerprint == vocabulary.fingerprint
    assert again(trained) == trained
    assert (
        type(again(trained))
        is type(trained.truncate(258))
        is type(trained.extend(["x"], 1))
        is Polite
    )


def test_from_merges_refuses_a_special_token_given_twice() -> None:
    with pytest.raises(ValueError, match="'<x>' is given twice"):
        Vocabulary.from_merges([], Dialect.named("cs336"), ["<x>", "<x>"])


def test_truncate_takes_a_prefix_of_the_merges() -> None:
    rows = [(97, 98, 256), (256, 99, 257), (257, 100, 258)]
    for name in ("bpetite", "cs336", "huggingface", "tiktoken"):
        dialect = Dialect.named(name)
        whole = Vocabulary.from_merges(rows, dialect, ["<|x|>"])
        size = 257 if name == "bpetite" else 258
        assert whole.truncate(size) == Vocabulary.from_merges(rows[:1], dialect, ["<|x|>"])
        with pytest.raises(ValueError, match="larger"):
            whole.truncate(1000)


def kinds_of_vocabularies() -> dict[str, Vocabulary]:
    """Return vocabularies that truncate may count wrongly, by what they have."""
    rows = [(97, 98, 256), (256, 99, 257), (98, 99, 258), (97, 258, 259), (99, 99, 260)]
    kinds = {
        name: Vocabulary.from_merges(rows, Dialect.named(name), ["<|x|>", "<|y|>"])
        for name in DIALECTS
    }
    for name, dialect in DIALECTS.items():
        whole = dataclasses.replace(kinds[name], dialect=dialect)
        free = max(*whole.tokens, *whole.special_tokens.values()) + 1
        only: dict[str, Any] = {"decode_only": {free + 3: b"ab", free + 4: b"\xff\xff"}}
        unmerged: dict[str, Any] = {"tokens": {**whole.tokens, free: b"xyz", free + 9: b"zyx"}}
        kinds[f"{name}, tokens that are only decoded"] = dataclasses.replace(whole, **only)
        kinds[f"{name}, tokens that no merge makes"] = dataclasses.replace(whole, **unmerged)
        kinds[f"{name}, both"] = dataclasses.replace(whole, **only, **unmerged)
    written = Vocabulary.from_merges(rows[:3], Dialect.named("huggingface"), ["<|x|>", "<|y|>"])
    document = json.loads(huggingface.to_bytes(written))
    document["model"]["vocab"].update({"never": 270, "☃": 271})
    read = huggingface.parse("made.json", json.dumps(document).encode()).vocabulary
    assert len(read.decode_only) == 1
    return {**kinds, "a file with tokens that nothing makes": read}


@pytest.mark.parametrize("kind", kinds_of_vocabularies())
def test_truncate_counts_as_its_vocabulary_does(kind: str) -> None:
    whole = kinds_of_vocabularies()[kind]

    def size(vocabulary: Vocabulary) -> int:
        counts_all = vocabulary.dialect.vocab_size_counts == "everything"
        return vocabulary.vocab_size if counts_all else vocabulary.mergeable_vocab_size

    made = len(set(whole.merge_ids))
    possible = range(size(whole) - made, size(whole) + 1)
    for wanted in range(size(whole) + 3):
        if wanted in possible:
            smaller = whole.truncate(wanted)
            assert size(smaller) == wanted
            assert smaller.merges == whole.merges[: len(smaller.merges)]
            assert vocabulary_of(artifact_bytes(smaller), "made.json") == smaller
        else:
            with pytest.raises(ValueError, match=f"at least {possible[0]}\\b"):
                whole.truncate(wanted)
    assert whole.truncate(size(whole)) == whole


def test_the_fingerprint_follows_the_content() -> None:
    one = Vocabulary(BASE | {256: b"ab"}, [(97, 98)], {"<|x|>": 257})
    same = Vocabulary({256: b"ab"} | BASE, [(97, 98)], {"<|x|>": 257})
    other = Vocabulary(BASE | {256: b"ab"}, [(97, 98)], {"<|x|>": 258})
    assert one.fingerprint == same.fingerprint != other.fingerprint
    assert one.fingerprint == "1fc73fd887274e09f07f97af43f9177713f5d153251f263fd082f0f1774b6636"


def as_json(vocabulary: Vocabulary) -> str:
    content = {
        "merges": vocabulary.merges,
        "pattern": vocabulary.pattern,
        "special_tokens": sorted(vocabulary.special_tokens.items()),
        "tokens": [[token_id, token.hex()] for token_id, token in vocabulary.tokens.items()],
        "whole_pretoken_first": vocabulary.whole_pretoken_first,
    }
    if vocabulary.normalization is not None:
        content["normalization"] = vocabulary.normalization
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


@given(
    first=st.sampled_from([0, 5, 99_990, 2**32 - 2000]),
    step=st.integers(1, 3),
    chosen=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), max_size=40),
    specials=st.dictionaries(st.text(min_size=1, max_size=4), st.integers(2000, 2020), max_size=3),
    pattern=st.text(max_size=5),
    whole=st.booleans(),
    normalization=st.sampled_from([None, "NFC"]),
)
def test_the_fingerprint_is_the_hash_of_a_json_text(
    first: int,
    step: int,
    chosen: list[tuple[int, int]],
    specials: dict[str, int],
    pattern: str,
    whole: bool,
    normalization: Literal["NFC"] | None,
) -> None:
    tokens = {first + step * byte: bytes([byte]) for byte in range(256)}
    ids, pairs = list(tokens), dict[tuple[int, int], int]()
    for left, right in chosen:
        pair = ids[left % len(ids)], ids[right % len(ids)]
        if pair not in pairs and len(tokens[pair[0]] + tokens[pair[1]]) < 1000:
            ids.append(first + 3 * 256 + 7 * len(pairs))
            tokens[ids[-1]] = tokens[pair[0]] + tokens[pair[1]]
            pairs[pair] = ids[-1]
    assume(len({*ids, *specials.values()}) == len(ids) + len(specials))
    vocabulary = Vocabulary(
        tokens,
        [*pairs],
        specials,
        pattern,
        whole_pretoken_first=whole,
        normalization=normalization,
        merge_ids=[*pairs.values()],
    )
    assert vocabulary.fingerprint == hashlib.sha256(as_json(vocabulary).encode("ascii")).hexdigest()


def outcome(make: Callable[[], Vocabulary]) -> Vocabulary | str:
    try:
        return make()
    except ValueError as refused:
        return str(refused)


def by_the_rules(
    tokens: Mapping[int, bytes], rows: Sequence[tuple[int, int, int]], irregular: bool
) -> dict[int, bytes] | None:
    """Return all tokens in the order of their ids, or None if the rules of a vocabulary are broken."""
    spelled = dict(tokens)
    ones = [token for token in tokens.values() if len(token) < 2]
    made = {token_id for token_id, token in tokens.items() if len(token) == 1}
    if b"" in ones or len({*ones}) < len(ones) or not (irregular or len(ones) == 256):
        return None
    if len({row[:2] for row in rows}) < len(rows) or any(row[2] == 2**32 - 1 for row in rows):
        return None
    for left, right, result in rows:
        if not {left, right} <= (spelled.keys() if irregular else made):
            return None
        token = spelled[left] + spelled[right]
        if spelled.setdefault(result, token) != token:
            return None
        made.add(result)
    return dict(sorted(spelled.items()))


@given(
    st.lists(st.tuples(*[st.integers(94, 103) | st.integers(254, 262)] * 3), max_size=8),
    st.dictionaries(
        st.integers(94, 103) | st.integers(250, 262), st.binary(max_size=3), max_size=8
    ),
    st.booleans(),
    st.booleans(),
    st.sampled_from([{}, {"x": 257}, {"x": 1000}]),
)
@example([(97, 98, 256), (256, 99, 257), (97, 98, 258)], {}, True, False, {})
@example([(97, 98, 256), (98, 99, 257), (256, 99, 258), (97, 257, 258)], {}, True, False, {})
@example([(97, 98, 2**32 - 2), (98, 99, 2**32 - 1)], {}, False, False, {})
@example([(257, 257, 256), (97, 98, 257)], {256: b"abab", 257: b"ab"}, False, True, {})
@example([(257, 257, 256), (97, 98, 257)], {256: b"abab", 257: b"ab"}, False, True, {"x": 257})
@example([(257, 257, 256), (257, 257, 256)], {256: b"abab", 257: b"ab"}, False, True, {})
@example([(97, 98, 257)], {256: b"abab", 257: b"ba"}, False, True, {})
@example([(97, 98, 257)], {256: b"abab", 257: b"ab", 98: b"ab"}, False, True, {})
def test_tokens_and_merges_are_taken_and_refused_as_the_rules_say(
    rows: list[tuple[int, int, int]],
    others: dict[int, bytes],
    in_order: bool,
    irregular: bool,
    specials: dict[str, int],
) -> None:
    if in_order:  # most random ids are refused; these rarely are
        rows = [(left, right, 256 + rank) for rank, (left, right, _) in enumerate(rows)]
    tokens = dict(sorted((BASE | others).items()))
    pairs, merge_ids = [row[:2] for row in rows], [row[2] for row in rows]
    arrays = Arrays.of(tokens, pairs, merge_ids)
    found = outcome(
        lambda: Vocabulary.of_arrays(arrays, special_tokens=specials, irregular=irregular)
    )
    given_objects = outcome(
        lambda: Vocabulary(tokens, pairs, specials, merge_ids=merge_ids, irregular=irregular)
    )
    assert found == given_objects
    expected = by_the_rules(tokens, rows, irregular)
    if expected is None or not expected.keys().isdisjoint(specials.values()):
        assert isinstance(found, str)
        return
    assert isinstance(found, Vocabulary)
    assert isinstance(given_objects, Vocabulary)
    assert list(found.tokens.items()) == list(expected.items())
    assert (found.merges, found.merge_ids) == (tuple(pairs), tuple(merge_ids))
    bytes_with_ids = {token[0]: key for key, token in expected.items() if len(token) == 1}
    assert found.id_of_byte == bytes_with_ids
    assert not found.irregular or irregular
    assert found.fingerprint == given_objects.fingerprint
    assert artifact_bytes(found) == artifact_bytes(given_objects)


def test_objects_of_tokens_and_merges_are_made_when_they_are_asked_for() -> None:
    arrays = Arrays.of(BASE, [(97, 98), (256, 99)], [256, 257])
    vocabulary = Vocabulary.of_arrays(arrays)
    assert not {"tokens", "merges", "merge_ids"} & set(vars(vocabulary))
    assert vocabulary.mergeable_vocab_size == 258
    assert vocabulary.merges == ((97, 98), (256, 99))
    assert vocabulary.merge_ids == (256, 257)
    assert vocabulary.merges is vocabulary.merges
    assert list(vocabulary.tokens.items())[254:] == [
        *list(BASE.items())[254:],
        (256, b"ab"),
        (257, b"abc"),
    ]
    with pytest.raises(TypeError):
        vocabulary.tokens[0] = b"x"  # type: ignore[index]  # the point of the test
    with pytest.raises(AttributeError, match="tokkens"):
        vocabulary.tokkens  # type: ignore[attr-defined]  # noqa: B018  # the point of the test


def test_a_pair_that_comes_back_keeps_its_first_rank() -> None:
    rows = [(97, 97, 256), (97, 256, 257), (256, 97, 257), (97, 97, 256), (257, 98, 258)]
    made = Vocabulary.from_merges(rows, Dialect.named("tiktoken"), [])
    assert made.merges == ((97, 97), (97, 256), (256, 97), (257, 98))
    assert made.merge_ids == (256, 257, 257, 258)


def test_what_a_merge_makes_is_part_of_the_fingerprint_where_its_bytes_do_not_tell() -> None:
    tokens = BASE | {256: b"ab", 257: b"bc", 258: b"abc", 259: b"abc"}
    merges = [(97, 98), (98, 99), (256, 99), (97, 257)]
    found, given = (
        Vocabulary(tokens, merges),
        Vocabulary(tokens, merges, merge_ids=[256, 257, 258, 259]),
    )
    assert found.fingerprint == given.fingerprint
    assert (
        Vocabulary(tokens, merges, merge_ids=[256, 257, 259, 258]).fingerprint != found.fingerprint
    )


def behaviour(vocabulary: Vocabulary) -> list[object]:
    """What the calls of a vocabulary return, or raise."""
    counts = Counts.from_iterator(
        ["xyz xyz<z>ab"],
        dialect=vocabulary.dialect,
        special_tokens=sorted(vocabulary.special_tokens),
    )
    tokenizer = Tokenizer(vocabulary)
    works: list[Callable[[], object]] = [
        lambda: vocabulary.truncate(vocabulary.vocab_size - 1),
        lambda: list(vocabulary.truncate(vocabulary.vocab_size - 1).special_tokens.items()),
        lambda: extend_vocabulary(vocabulary, counts, 3),
        lambda: artifact_bytes(vocabulary),
        lambda: artifact_bytes(pickle.loads(pickle.dumps(vocabulary))),
        lambda: tokenizer.to_tiktoken_encoding()._special_tokens,
        lambda: list(copy.deepcopy(tokenizer).special_tokens.items()),
        lambda: tokenizer.encode("ab<a><z>abc<m>"),
        lambda: (vocabulary.fingerprint, hash(vocabulary), repr(vocabulary)),
    ]
    found: list[object] = []
    for work in works:
        try:
            found.append(work())
        except ValueError as refused:
            found.append(str(refused))
    return found


@given(
    order=st.permutations(["<z>", "<a>", "<m>"]),
    shuffled=st.permutations(["<z>", "<a>", "<m>"]),
    dialect=st.sampled_from(list(DIALECTS)),
    first=st.sampled_from([None, 1000]),
)
@settings(max_examples=25, deadline=None)
def test_whatever_is_equal_behaves_equally(
    order: list[str], shuffled: list[str], dialect: str, first: int | None
) -> None:
    made = Vocabulary.from_merges([(97, 98, 256), (256, 99, 257)], Dialect.named(dialect), order)
    specials = dict(made.special_tokens)
    if first is not None:
        specials = {text: first + place for place, text in enumerate(order)}
    made = dataclasses.replace(made, special_tokens=specials)
    again = dataclasses.replace(
        made,
        tokens=dict(sorted(made.tokens.items(), reverse=True)),
        special_tokens={text: specials[text] for text in shuffled},
    )
    loaded = vocabulary_of(artifact_bytes(made), "made.json")
    assert made == again == loaded == pickle.loads(pickle.dumps(again))
    assert behaviour(made) == behaviour(again) == behaviour(loaded)


def test_counts_made_with_the_same_boundaries_in_another_order_fit() -> None:
    one, other = (
        Counts.from_iterator(["ab<z>ab"], dialect="tiktoken", special_tokens=specials)
        for specials in (["<z>", "<a>"], ["<a>", "<z>"])
    )
    assert dict(Counts.merge([one, other]).items()) == {b"ab": 4}
    assert Tokenizer.train_from_counts(
        one, 260, dialect="tiktoken", special_tokens=["<a>", "<z>"]
    ).special_tokens == {"<a>": 257, "<z>": 258}


def test_merges_may_stand_before_their_parents_where_that_is_said() -> None:
    tokens = BASE | {256: b"abab", 257: b"ab"}
    with pytest.raises(ValueError, match="merge 0 uses id 257, which no earlier merge makes"):
        Vocabulary(tokens, [(257, 257), (97, 98)])
    made = Vocabulary(tokens, [(257, 257), (97, 98)], irregular=True)
    assert made.irregular
    assert Tokenizer(made).encode("xabab abab") == [120, 256, 32, 256]
    assert (
        vocabulary_of(artifact_bytes(made), "made.json") == made == pickle.loads(pickle.dumps(made))
    )
    regular = Vocabulary(tokens, [(97, 98), (257, 257)], irregular=True)
    assert not regular.irregular
    assert regular == Vocabulary(tokens, [(97, 98), (257, 257)])
    assert len(json.loads(artifact_bytes(regular))["tokens"]) == 256


def test_merges_of_equal_ranks_are_applied_from_the_left() -> None:
    tokens = BASE | {256: b"bc", 257: b"ab", 258: b"cd"}
    merges = [(98, 99), (97, 98), (99, 100)]
    made = Vocabulary(tokens, merges, irregular=True, equal_ranks=[(0, 2)])
    assert (made.irregular, made.equal_ranks) == (True, ((0, 2),))
    assert Tokenizer(made).encode("abcd") == [257, 258]
    assert Tokenizer(dataclasses.replace(made, equal_ranks=())).encode("abcd") == [97, 256, 100]
    assert (
        made
        != dataclasses.replace(made, equal_ranks=())
        != dataclasses.replace(made, equal_ranks=[(0, 3)])
    )
    assert made.fingerprint != dataclasses.replace(made, equal_ranks=()).fingerprint
    document = json.loads(artifact_bytes(made))
    assert (len(document["tokens"]), document["equal_ranks"]) == (259, [0, 2])
    assert (
        vocabulary_of(artifact_bytes(made), "made.json") == made == pickle.loads(pickle.dumps(made))
    )
    assert made.truncate(257).equal_ranks == ()
    assert made.truncate(258).equal_ranks == ((0, 2),)
    for wrong, says in [
        ([0], "two places"),
        ([0, 1], "0 to 1 are not several of 3 merges"),
        ([1, 4], "1 to 4"),
    ]:
        with pytest.raises(ValueError, match=f"made.json: equal_ranks.*{says}"):
            vocabulary_of(json.dumps({**document, "equal_ranks": wrong}).encode(), "made.json")
    with pytest.raises(ValueError, match="0 to 2 are not several of 0 merges"):
        Vocabulary(tokens, merges, equal_ranks=[(0, 2)])


def test_bytes_may_have_no_token_where_that_is_said() -> None:
    tokens = {byte: token for byte, token in BASE.items() if byte not in (0xFF, ord("z"))}
    with pytest.raises(ValueError, match="lack byte 122"):
        Vocabulary(tokens, [])
    made = Vocabulary(tokens, [], irregular=True)
    assert made.irregular
    assert vocabulary_of(artifact_bytes(made), "made.json") == made
    assert Tokenizer(made).encode("a") == [97]
    with pytest.raises(ValueError, match='"z" has a byte for which this vocabulary has no token'):
        Tokenizer(made).encode("z")
    with pytest.raises(ValueError, match="lack byte 122"):
        made.base_ids  # noqa: B018  # the point of the test


def test_tokens_that_are_only_decoded_are_part_of_the_vocabulary() -> None:
    made = Vocabulary(
        BASE | {256: b"ab"}, [(97, 98)], {"<x>": 257}, decode_only={300: b"ab", 299: b""}
    )
    tok = Tokenizer(made)
    assert (made.vocab_size, made.mergeable_vocab_size) == (260, 257)
    assert list(made.decode_only) == [299, 300]
    assert tok.encode("ab<x>") == [256, 257]
    assert tok.decode([299, 300, 256]) == "abab"
    assert made.fingerprint != dataclasses.replace(made, decode_only={}).fingerprint
    assert json.loads(artifact_bytes(made))["decode_only"] == {"299": "", "300": "6162"}
    assert (
        vocabulary_of(artifact_bytes(made), "made.json") == made == pickle.loads(pickle.dumps(made))
    )
    assert made.truncate(256).decode_only == made.decode_only
    with pytest.raises(ValueError, match="id 257 is given twice"):
        dataclasses.replace(made, decode_only={257: b""})
