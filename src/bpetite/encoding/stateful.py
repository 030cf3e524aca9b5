"""Objects with a state of their own: their copies go on by themselves."""

from __future__ import annotations

from copy import copy
from typing import Any, NoReturn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self


class Stateful:
    """What changes with every call. It belongs to its tokenizer, which copies share.

    >>> class Counter(Stateful):
    ...     _copied = ("seen",)
    ...     def __init__(self):
    ...         self.seen = []
    >>> counter = Counter()
    >>> copy(counter).seen.append(1), counter.seen
    (None, [])
    """

    _copied: tuple[str, ...]
    """The names of the attributes that change and are not replaced."""

    def copy(self) -> Self:
        """Return a copy, which goes on by itself."""
        copied: Any = object.__new__(type(self))
        for name, value in vars(self).items():
            setattr(copied, name, copy(value) if name in self._copied else value)
        return copied  # type: ignore[no-any-return]

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, _memo: object) -> Self:
        return self.copy()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a growing text or a stream cannot be pickled, as it belongs to its tokenizer: "
            "pickle the tokenizer and the text so far"
        )
