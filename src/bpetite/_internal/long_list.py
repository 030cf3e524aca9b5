"""Values in, the same values out as often as they are asked for; many of them wait in a temporary file."""

from __future__ import annotations

from _thread import allocate_lock
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any, TypeVar, overload

    T = TypeVar("T")
else:
    T = object

_BLOCK = 1 << 10
"""How many values are packed at a time."""

_IN_MEMORY = 1 << 22
"""How many packed bytes are held in memory, unless the caller says how many; with more, all of them go to the
file."""


class LongList(Sequence[T]):
    """A list of any length that takes little memory, for values that are read one after the other.

    `row_of` gives what is kept of a value, and `make` makes it again.
    """

    def __init__(
        self,
        make: Callable[..., T],
        row_of: Callable[[T], tuple[Any, ...]],
        values: Iterable[T] = (),
        in_memory: int = _IN_MEMORY,
    ) -> None:
        self._make = make
        self._row_of = row_of
        self._in_memory = in_memory
        self._file: IO[bytes] | None = None
        """The packed blocks; None before the first."""
        self._bounds = array("Q", [0])
        """Where each packed block begins, and where the last one ends."""
        self._rows: list[tuple[Any, ...]] = []
        """What is not packed yet."""
        self._lock = allocate_lock()
        self.extend(values)

    def append(self, value: T) -> None:
        """Put a value behind the others."""
        with self._lock:
            self._rows.append(self._row_of(value))
            if len(self._rows) == _BLOCK:
                # Imported here, because most lists are short.
                import pickle
                import zlib

                packed = zlib.compress(pickle.dumps(self._rows), 1)
                file = self._opened()
                file.seek(self._bounds[-1])
                file.write(packed)
                self._bounds.append(self._bounds[-1] + len(packed))
                self._rows = []

    def _opened(self) -> IO[bytes]:
        """Return the file, which is closed with the list."""
        if self._file is None:
            import weakref
            from tempfile import SpooledTemporaryFile

            self._file = SpooledTemporaryFile(self._in_memory)  # noqa: SIM115
            weakref.finalize(self, self._file.close)
        return self._file

    def extend(self, values: Iterable[T]) -> None:
        """Put values behind the others."""
        for value in values:
            self.append(value)

    def __len__(self) -> int:
        return (len(self._bounds) - 1) * _BLOCK + len(self._rows)

    def __iter__(self) -> Iterator[T]:
        return self._values(0)

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, index: int) -> T: ...

        @overload
        def __getitem__(self, index: slice) -> Sequence[T]: ...

    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        places = range(len(self))[index]
        if isinstance(places, int):
            return next(self._values(places))
        if places.step != 1:
            raise ValueError("a slice must have step 1")
        return [value for value, _ in zip(self._values(places.start), places, strict=False)]

    def __eq__(self, other: object) -> bool:
        """Whether another sequence has equal values."""
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(
            one == another for one, another in zip(self, other, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def _values(self, first: int) -> Iterator[T]:
        """Yield the values from that number on."""
        block, place = divmod(first, _BLOCK)
        while block < len(self._bounds):
            for row in self._block(block)[place:]:
                yield self._make(*row)
            block, place = block + 1, 0

    def _block(self, block: int) -> list[tuple[Any, ...]]:
        with self._lock:
            if block == len(self._bounds) - 1:
                return self._rows
            file = self._opened()
            file.seek(self._bounds[block])
            packed = file.read(self._bounds[block + 1] - self._bounds[block])
        import pickle
        import zlib

        rows: list[tuple[Any, ...]] = pickle.loads(zlib.decompress(packed))
        return rows
