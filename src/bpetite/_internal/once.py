"""Properties that are computed once, without a lock.

Before Python 3.12, `functools.cached_property` takes one, which all instances share. A process that
is forked while another thread computes the property would wait for that lock for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class once(Generic[T]):  # written like `property`
    """A property that is computed at its first use; two threads may both compute it.

    >>> class Square:
    ...     def __init__(self, side):
    ...         self.side = side
    ...
    ...     @once
    ...     def area(self):
    ...         return self.side**2
    >>> square = Square(3)
    >>> square.area, vars(square)
    (9, {'side': 3, 'area': 9})
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Self | T:
        if instance is None:
            return self
        # What is in the instance is found there from now on, and this is not called again.
        value = vars(instance)[self._name] = self._compute(instance)
        return value
