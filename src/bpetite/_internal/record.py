"""Immutable values with named fields, as `@dataclass(frozen=True)` makes them, for what every command needs.

Importing `dataclasses`, and `inspect` with it, and making five classes takes 10 ms: as long as
training takes to count 6 MB of text. Who looks at a record from outside (`dataclasses.replace`,
`fields`, `asdict`, `inspect.signature`, `help`) finds what an equal dataclass has; it is made when
somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

if TYPE_CHECKING:
    from typing import ClassVar, Literal

R = TypeVar("R", bound="Record")


class _Derived:
    """Marks a field that no call gives, because `__post_init__` derives it from the others."""


def derived(*, init: Literal[False] = False) -> Any:
    """Return the default of a field that is derived from the others."""
    return _Derived()


class _OfDataclass:
    """What a class takes from an equal dataclass."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, record: object, kind: type[Record]) -> Any:
        return getattr(_equal_dataclass(kind), self._name)


@dataclass_transform(frozen_default=True, field_specifiers=(derived,))
class Record:
    """A base of classes whose annotated attributes are fields, in their order; values are their defaults.

    >>> class Point(Record):
    ...     x: int
    ...     y: int = 0
    >>> Point(1), Point(1) == Point(x=1, y=0), replaced(Point(1), y=2)
    (Point(x=1, y=0), True, Point(x=1, y=2))
    """

    __dataclass_fields__ = _OfDataclass()
    __signature__ = _OfDataclass()

    if TYPE_CHECKING:
        _fields: ClassVar[tuple[str, ...]]
        _defaults: ClassVar[dict[str, Any]]
        _derived: ClassVar[tuple[str, ...]]
    else:  # As annotations, they would be among the type hints of each class.
        _fields, _defaults, _derived = (), {}, ()

    def __init_subclass__(cls, *, lazy: Collection[str] = ()) -> None:
        """Find the fields. Those that an instance makes when asked for them are none of the class."""
        defaults = {name: vars(cls)[name] for name in cls.__annotations__ if name in vars(cls)}
        for name in defaults.keys() & lazy:
            delattr(cls, name)
        cls._derived = tuple(
            name for name, value in defaults.items() if isinstance(value, _Derived)
        )
        cls._defaults = {
            name: value for name, value in defaults.items() if name not in cls._derived
        }
        cls._fields = tuple(name for name in cls.__annotations__ if name not in cls._derived)

    def __init__(self, *values: Any, **named: Any) -> None:
        """Set the fields, then call `__post_init__`."""
        given = dict(zip(self._fields, values, strict=False))
        fields = {**self._defaults, **given, **named}
        is_complete = len(given) == len(values) and fields.keys() == set(self._fields)
        if not is_complete or given.keys() & named.keys():
            _refuse(type(self), values, named)
        self.__dict__.update(fields)
        self.__post_init__()

    def __post_init__(self) -> None:
        """Check the fields, and set those that are derived."""

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse to change a field."""
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        """Refuse to delete a field."""
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        """Compare all fields of values of the same class."""
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self._fields)

    def __hash__(self) -> int:
        """Return the hash of all fields."""
        return hash(tuple(getattr(self, name) for name in self._fields))

    def __repr__(self) -> str:
        """Return the call that makes an equal value."""
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._fields)
        return f"{type(self).__qualname__}({fields})"


def replaced(record: R, **changes: Any) -> R:
    """Return a value of which some fields are others."""
    # A field that is not asked for need not be made, where it is made when it is first asked for.
    unchanged = {name: getattr(record, name) for name in record._fields if name not in changes}
    return type(record)(**unchanged, **changes)


def _refuse(kind: type[Record], values: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Say what is wrong with the arguments of a call."""
    from inspect import signature

    try:
        signature(kind).bind(*values, **named)
    except TypeError as error:
        raise TypeError(f"{kind.__name__}: {error}") from None


def _equal_dataclass(kind: type[Record]) -> Any:
    """Return a dataclass with the fields of a record."""
    from dataclasses import field, make_dataclass
    from inspect import signature

    def described(name: str) -> tuple[str, Any, Any]:
        if name in kind._derived:
            return name, kind.__annotations__[name], field(init=False)
        if name not in kind._defaults:
            return name, kind.__annotations__[name], field()
        default = kind._defaults[name]
        # A dataclass refuses what has no hash, and a record would make a long signature.
        if type(default).__hash__ is None or isinstance(default, Record):
            return name, kind.__annotations__[name], field(default_factory=lambda: default)
        return name, kind.__annotations__[name], field(default=default)

    made: Any = make_dataclass(kind.__name__, map(described, kind.__annotations__), frozen=True)
    made.__signature__ = signature(made)
    return made
