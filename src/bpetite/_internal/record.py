"""Immutable values with named fields, as `@dataclass(frozen=True)` makes them, but quick to start.

For classes that nearly every process needs. Importing `dataclasses` and making five classes with it takes 9
ms of processor time, as much as importing `Tokenizer` without it. A `NamedTuple` needs `typing`, which takes
half of that, and cannot check its fields, fill them later, or differ from a tuple of the same values.

For all who look at such values from outside (`dataclasses.replace`, `fields`, `asdict`, `inspect.signature`,
`help`), a class has what an equal dataclass has, which is made when it is asked for. Inside the package,
`_fields`, `_field_defaults`, `_asdict` and `_replace` do what they do in a `NamedTuple`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Self, dataclass_transform
else:

    def dataclass_transform(**_: object) -> object:
        """Tell type checkers, and nobody else, that classes have the methods of dataclasses."""
        return lambda kind: kind


class _OfDataclass:
    """An attribute that a class takes from its dataclass."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, record: object, kind: type[Record]) -> Any:
        return getattr(_dataclass(kind), self._name)


@dataclass_transform(frozen_default=True)
class Record:
    """A base of classes whose annotated attributes are fields, in their order; values are their defaults.

    >>> class Point(Record):
    ...     x: int
    ...     y: int = 0
    >>> Point(1), Point(1) == Point(x=1, y=0), Point(1)._replace(y=2)
    (Point(x=1, y=0), True, Point(x=1, y=2))
    """

    __dataclass_fields__ = _OfDataclass()
    __signature__ = _OfDataclass()

    def __init_subclass__(cls) -> None:
        cls._fields = tuple(cls.__annotations__)
        cls._field_defaults = {name: vars(cls)[name] for name in cls._fields if name in vars(cls)}
        for name in cls._field_defaults:
            delattr(cls, name)  # It would hide a field that is missing until `__getattr__` makes it.

    if TYPE_CHECKING:
        _fields: ClassVar[tuple[str, ...]]
        _field_defaults: ClassVar[dict[str, Any]]
    else:  # Annotations would have to be evaluated with those of each class.
        _fields, _field_defaults = (), {}

    def __init__(self, *values: Any, **named: Any) -> None:
        """Set all fields, then call `__post_init__`, which may check them."""
        names = self._fields
        given = dict(zip(names, values, strict=False))
        fields = {**self._field_defaults, **given, **named}
        if len(given) < len(values) or given.keys() & named.keys() or fields.keys() ^ set(names):
            from inspect import signature

            signature(type(self)).bind(*values, **named)  # says what is wrong
        self.__dict__.update(fields)
        self.__post_init__()

    def __post_init__(self) -> None:
        """Check the fields."""

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse to change a field."""
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        """Refuse to delete a field."""
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        """Compare all fields."""
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self._fields)

    def __hash__(self) -> int:
        """Return the hash of all fields."""
        return hash(tuple(getattr(self, name) for name in self._fields))

    def __repr__(self) -> str:
        """Return the call that makes an equal value."""
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._fields)
        return f"{type(self).__qualname__}({shown})"

    def _asdict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {name: getattr(self, name) for name in self._fields}

    def _replace(self, **fields: Any) -> Self:
        """Return a value of which some fields are others."""
        return type(self)(**{**self._asdict(), **fields})


def _dataclass(kind: type[Record]) -> Any:
    """Return an equal dataclass."""
    from dataclasses import field, make_dataclass
    from inspect import signature
    from types import MappingProxyType

    def described(name: str) -> tuple[str, Any, Any]:
        if name not in kind._field_defaults:
            return name, kind.__annotations__[name], field()
        default = kind._field_defaults[name]
        if type(default).__hash__ is None or isinstance(default, Record | MappingProxyType):
            # A dataclass refuses a default without a hash as mutable, and some Pythons hash a mapping; a
            # record would make a long signature.
            return name, kind.__annotations__[name], field(default_factory=lambda: default)
        return name, kind.__annotations__[name], field(default=default)

    made: Any = make_dataclass(kind.__name__, map(described, kind._fields), frozen=True)
    made.__signature__ = signature(made)
    return made
