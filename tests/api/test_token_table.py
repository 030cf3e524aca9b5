"""Tokens as tables: all of a vocabulary, those that begin alike, and those that two have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import Tokenizer, shared
from bpetite._internal import lazy
from bpetite.encoding import token_table
from bpetite.vocabulary import Vocabulary
from test_canonical import OF_WORDS
from test_growing import NORMALIZING, TOKENIZERS

BYTES = {byte: bytes([byte]) for byte in range(256)}
GAPS = Tokenizer(
    Vocabulary(
        {**BYTES, 300: b"ab", 301: b"ab\xff", 305: b"\xff\xff"},
        [(97, 98), (300, 255), (255, 255)],
        {"<s>": 310, "<t>": 312},
        added_tokens={"<t>"},
        decode_only={320: b"ab"},
    )
)
ALL = {**TOKENIZERS, **NORMALIZING, "gaps": GAPS, "words": OF_WORDS}


def test_a_table_that_no_memory_holds_is_refused() -> None:
    far = Tokenizer(Vocabulary(BYTES, [], {"<s>": 2**31}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_table, "available_memory", lambda: 1 << 30)
        with pytest.raises(MemoryError, match="all ids to the largest, 2147483648, needs 5153960"):
            far.token_table()


@pytest.mark.parametrize("name", ALL)
def test_a_table_has_a_row_for_each_id(name: str) -> None:
    tokenizer = ALL[name]
    table = tokenizer.token_table()
    assert table.schema == pyarrow.schema(
        {
            "id": pyarrow.uint32(),
            "bytes": pyarrow.binary(),
            "special": pyarrow.bool_(),
            "decode_only": pyarrow.bool_(),
        }
    )
    assert table["id"].to_pylist() == list(range(tokenizer.largest_id + 1))
    vocabulary = tokenizer.vocabulary
    for row in table.to_pylist():
        token_id = row["id"]
        try:
            token = tokenizer.token_bytes(token_id)
        except KeyError:
            assert (row["bytes"], row["special"], row["decode_only"]) == (None, False, False)
            continue
        assert row["bytes"] == token
        skipped = tokenizer.decode_batch([[token_id]], skip_special=True, errors="replace") == [""]
        assert row["special"] == (skipped and bool(token))
        assert row["decode_only"] == (token_id in vocabulary.decode_only)


@pytest.mark.parametrize("name", ALL)
@given(
    prefix=st.one_of(
        st.sampled_from([b"", b"\xff", b"\xff\xff", b"a", b"ab", b" t"]), st.binary(max_size=3)
    )
)
def test_tokens_with_a_prefix_are_those_that_begin_with_it(name: str, prefix: bytes) -> None:
    tokenizer = ALL[name]
    tokens = tokenizer.vocabulary.tokens.items()
    expected = [token_id for token_id, token in tokens if token.startswith(prefix)]
    assert tokenizer.tokens_with_prefix(prefix) == sorted(expected)


def test_shared_tokens_are_those_with_the_same_bytes() -> None:
    other = Tokenizer.train("ab ab ab", 258).add_tokens(["<s>", "<t>"], special=True)
    table = shared(GAPS, other)
    assert table.column_names == ["id_a", "id_b", "bytes"]
    rows = [tuple(row.values()) for row in table.to_pylist()]
    assert rows[:256] == [(byte, byte, bytes([byte])) for byte in range(256)]
    assert rows[256:] == [(300, 256, b"ab"), (310, 259, b"<s>")]  # <t> is special in one of them
    back = shared(other, GAPS)
    assert sorted(zip(*back.to_pydict().values(), strict=True)) == sorted(
        (id_b, id_a, token) for id_a, id_b, token in rows
    )
    same = shared(GAPS, GAPS).to_pydict()
    assert same["id_a"] == same["id_b"] == [*range(256), 300, 301, 305, 310, 312]


def test_only_tokenizers_have_shared_tokens() -> None:
    with pytest.raises(TypeError, match="a must be a Tokenizer"):
        shared("a", GAPS)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="b must be a Tokenizer"):
        shared(GAPS, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["token_table", "shared"])
def test_without_pyarrow_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def missing(module: str) -> Any:
        raise ImportError(module)

    monkeypatch.setattr(lazy, "import_module", missing)
    calls: dict[str, Callable[[], Any]] = {
        "token_table": GAPS.token_table,
        "shared": lambda: shared(GAPS, GAPS),
    }
    with pytest.raises(
        ImportError, match=rf"{name} needs pyarrow: pip install 'bpetite\[corpus\]'"
    ):
        calls[name]()
