"""Records: what an equal dataclass does, without the time that it takes."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from typing import Any

import pytest

from bpetite._internal.record import Record, derived, replaced


class Point(Record):
    """A record whose last field is derived."""

    x: int
    y: int = 2
    tags: tuple[str, ...] = ()
    total: int = derived()

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x must not be negative")
        self.__dict__["total"] = self.x + self.y


@dataclasses.dataclass(frozen=True)
class Twin:
    """The dataclass with the same fields."""

    x: int
    y: int = 2
    tags: tuple[str, ...] = ()
    total: int = dataclasses.field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", self.x + self.y)


def test_a_record_is_made_compared_and_shown_like_a_dataclass() -> None:
    one, twin = Point(1, tags=("a",)), Twin(1, tags=("a",))
    assert vars(one) == vars(twin)
    assert repr(one) == repr(twin).replace("Twin", "Point")
    assert one == Point(1, 2, ("a",)) != Point(1, 3, ("a",))
    assert one != twin
    assert len({one, Point(x=1, tags=("a",)), Point(5)}) == 2
    assert Point.y == Twin.y == 2


@pytest.mark.parametrize(
    "call", [((), {}), ((1, 2, (), 4), {}), ((1,), {"x": 1}), ((1,), {"z": 1})]
)
def test_wrong_arguments_are_type_errors_that_name_the_class(call: tuple[Any, Any]) -> None:
    values, named = call
    with pytest.raises(TypeError):
        Twin(*values, **named)
    with pytest.raises(TypeError, match=r"^Point: "):
        Point(*values, **named)


def test_a_field_can_be_replaced_but_not_changed() -> None:
    point = Point(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        point.x = 3  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del point.x
    assert replaced(point, x=5) == dataclasses.replace(point, x=5) == Point(5)
    assert replaced(point, x=5).total == 7
    with pytest.raises(ValueError, match="negative"):
        replaced(point, x=-1)


def test_who_looks_from_outside_finds_a_dataclass() -> None:
    point: Any = Point(1)
    assert dataclasses.is_dataclass(Point)
    assert [field.name for field in dataclasses.fields(Point)] == ["x", "y", "tags", "total"]
    assert dataclasses.asdict(point) == {"x": 1, "y": 2, "tags": (), "total": 3}
    assert inspect.signature(Point).parameters.keys() == inspect.signature(Twin).parameters.keys()


def test_copies_are_equal() -> None:
    point = Point(1, 5)
    for other in (copy.copy(point), copy.deepcopy(point), pickle.loads(pickle.dumps(point))):
        assert other == point
        assert other.total == 6
