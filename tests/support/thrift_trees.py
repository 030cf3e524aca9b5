"""Thrift's compact protocol, read into trees and written again: Parquet's numbers, to be changed by tests.

A tree is a list of fields, `(number, kind, value)`; a value is an int, bytes, a list `(kind,
values)`, or a tree.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

Tree = list[tuple[int, int, Any]]

INTEGERS = (4, 5, 6)
BINARY, LIST, SET, STRUCT = 8, 9, 10, 12


class Reader:
    """Reads trees from bytes."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.place = 0

    def tree(self) -> Tree:
        fields: Tree = []
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            fields.append((number, head & 15, self._value(head & 15)))
        return fields

    def _value(self, kind: int) -> Any:
        if kind in (1, 2):
            return None
        if kind == 3:
            return self._byte()
        if kind in INTEGERS:
            return self._integer()
        if kind == 7:
            return self._bytes(8)
        if kind == BINARY:
            return self._bytes(self._unsigned())
        if kind in (LIST, SET):
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._unsigned()
            items = [
                self._byte() if head & 15 in (1, 2) else self._value(head & 15)
                for _ in range(count)
            ]
            return head & 15, items
        return self.tree()

    def _byte(self) -> int:
        return self._bytes(1)[0]

    def _bytes(self, size: int) -> bytes:
        self.place += size
        return self._content[self.place - size : self.place]

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def _integer(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)


def written(tree: Tree) -> bytes:
    content, before = b"", 0
    for number, kind, value in tree:
        step = number - before
        content += bytes([step << 4 | kind]) if 0 < step < 16 else bytes([kind]) + _signed(number)
        content += _of(kind, value)
        before = number
    return content + b"\0"


def _of(kind: int, value: Any) -> bytes:
    if kind in (1, 2):
        return b""
    if kind == 3:
        return bytes([value])
    if kind in INTEGERS:
        return _signed(value)
    if kind == BINARY:
        return _unsigned(len(value)) + bytes(value)
    if kind in (LIST, SET):
        of, items = value
        few = len(items) < 15
        head = bytes([len(items) << 4 | of]) if few else bytes([0xF0 | of]) + _unsigned(len(items))
        return head + b"".join(bytes([item]) if of in (1, 2) else _of(of, item) for item in items)
    return written(value) if kind == STRUCT else bytes(value)


def _unsigned(value: int) -> bytes:
    content = b""
    while value > 127:
        content += bytes([value & 127 | 128])
        value >>= 7
    return content + bytes([value])


def _signed(value: int) -> bytes:
    return _unsigned((value << 1 ^ value >> 63) & (1 << 64) - 1)


def integers(tree: Tree) -> Iterator[tuple[int, Callable[[int], Tree]]]:
    """Yield each integer of a tree, and a function that makes the tree with another one in its place."""
    for place, (number, kind, value) in enumerate(tree):
        for found, change in _integers_in(kind, value):
            yield found, partial(_changed, tree, place, number, kind, change)


def _integers_in(kind: int, value: Any) -> Iterator[tuple[int, Callable[[int], Any]]]:
    if kind in INTEGERS:
        yield value, int
    elif kind == STRUCT:
        yield from integers(value)
    elif kind in (LIST, SET):
        of, items = value
        for place, item in enumerate(items):
            for found, change in _integers_in(of, item):
                yield found, partial(_changed_item, of, items, place, change)


def _changed(
    tree: Tree, place: int, number: int, kind: int, change: Callable[[int], Any], new: int
) -> Tree:
    return [*tree[:place], (number, kind, change(new)), *tree[place + 1 :]]


def _changed_item(
    of: int, items: list[Any], place: int, change: Callable[[int], Any], new: int
) -> tuple[int, list[Any]]:
    return of, [*items[:place], change(new), *items[place + 1 :]]
