"""Dialects: the named ones, single axes, and what is refused."""

import pytest

from bpetite.dialect import DIALECTS, Dialect


def test_named_dialects_know_their_names() -> None:
    assert [dialect.name for dialect in DIALECTS.values()] == list(DIALECTS)


def test_any_axis_can_be_changed_alone() -> None:
    changed = Dialect.named("bpetite").replace(tie_break="largest_bytes")
    assert changed.name == "custom"
    assert changed.replace(tie_break="smallest_ids") == Dialect.named("bpetite")


def test_unknown_names_axes_and_choices_are_refused() -> None:
    with pytest.raises(ValueError, match="'gpt5' is not known"):
        Dialect.named("gpt5")
    with pytest.raises(ValueError, match="no axis 'colour'"):
        Dialect().replace(colour="red")
    with pytest.raises(ValueError, match="tie_break: must be smallest_ids, largest_bytes or"):
        Dialect().replace(tie_break="random")


def test_the_order_of_printable_stand_ins_is_a_permutation() -> None:
    order = Dialect.named("huggingface").base_bytes()
    assert sorted(order) == list(range(256))
    assert order[:3] == b"!\x22#"
    assert order[188:190] == b"\x00\x01"


@pytest.mark.parametrize(
    ("name", "smallest"), [("bpetite", 256), ("cs336", 258), ("tiktoken", 258)]
)
def test_the_smallest_vocabulary_of_a_dialect(name: str, smallest: int) -> None:
    assert Dialect.named(name).planned_tokens(smallest, 2) == 0
    with pytest.raises(ValueError, match=f"at least {smallest}"):
        Dialect.named(name).planned_tokens(smallest - 1, 2)
