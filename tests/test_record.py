"""Records behave as frozen dataclasses do, also when `dataclasses` and `inspect` look at them."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from bpetite import Dialect, Vocabulary
from bpetite._internal.record import Record

NOTHING: Mapping[str, int] = MappingProxyType({})


class Parcel(Record):
    """A record with checks, and with a default that has no hash."""

    weight: int
    contents: Mapping[str, int] = NOTHING
    label: str = "none"

    def __post_init__(self) -> None:
        """Refuse what is too heavy."""
        if self.weight > 10:
            raise ValueError("too heavy")


@dataclasses.dataclass(frozen=True)
class Same:
    """The same as a dataclass."""

    weight: int
    contents: Mapping[str, int] = dataclasses.field(default_factory=dict)
    label: str = "none"


def test_fields_are_set_in_their_order_or_by_name() -> None:
    parcel = Parcel(1, label="fragile")
    assert (parcel.weight, parcel.contents, parcel.label) == (1, {}, "fragile")
    assert repr(parcel) == "Parcel(weight=1, contents=mappingproxy({}), label='fragile')"
    assert parcel == Parcel(1, {}, "fragile") != Parcel(2, {}, "fragile")
    assert parcel != Same(1, {}, "fragile")
    assert hash(Dialect()) == hash(Dialect(special_ids="last")) != hash(Dialect(special_ids="first"))
    assert parcel._replace(weight=3).weight == 3


@pytest.mark.parametrize(
    ("values", "named", "message"),
    [
        ((), {}, "missing a required argument: 'weight'"),
        ((1, {}, "a", "b"), {}, "too many positional arguments"),
        ((1,), {"weight": 2}, "multiple values for argument 'weight'"),
        ((1,), {"colour": "red"}, "got an unexpected keyword argument 'colour'"),
    ],
)
def test_arguments_must_be_those_of_the_fields(
    values: tuple[Any, ...], named: dict[str, Any], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        Parcel(*values, **named)


def test_fields_are_checked_and_never_change() -> None:
    with pytest.raises(ValueError, match="too heavy"):
        Parcel(11)
    parcel = Parcel(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'weight'"):
        parcel.weight = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'weight'"):
        del parcel.weight
    with pytest.raises(ValueError, match="too heavy"):
        parcel._replace(weight=11)


def test_records_are_dataclasses_for_those_who_ask() -> None:
    parcel = Parcel(1)
    assert dataclasses.is_dataclass(parcel)
    assert dataclasses.replace(parcel, label="fragile") == Parcel(1, {}, "fragile")
    with pytest.raises(ValueError, match="too heavy"):
        dataclasses.replace(parcel, weight=11)
    named = [(field.name, field.type) for field in dataclasses.fields(Parcel)]
    assert named == [(field.name, field.type) for field in dataclasses.fields(Same)]
    assert dataclasses.asdict(Dialect()) == Dialect().to_dict()
    assert str(inspect.signature(Parcel)) == str(inspect.signature(Same))
    assert list(inspect.signature(Vocabulary).parameters)[:2] == ["tokens", "merges"]


def test_records_are_copied_and_pickled() -> None:
    for value in (Dialect.named("cs336"), Dialect(special_ids="first")):
        assert copy.deepcopy(value) == copy.copy(value) == pickle.loads(pickle.dumps(value)) == value
