"""Items in, the same items out, produced in a separate thread while the caller works on earlier ones."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Generator, Iterator
from typing import TypeVar

T = TypeVar("T")


def read_ahead(items: Iterator[T]) -> Generator[T, None, None]:
    """Yield the items, produced in a separate thread while the caller works on earlier ones.

    If the system cannot start another thread, they are produced on demand.
    """
    made: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue(1)
    left = threading.Event()

    def put(item: T | None, error: BaseException | None) -> None:
        while not left.is_set():
            with contextlib.suppress(queue.Full):
                made.put((item, error), timeout=0.1)
                return

    def make() -> None:
        try:
            for item in items:
                put(item, None)
                if left.is_set():
                    return
            put(None, None)
        except BaseException as error:
            put(None, error)

    maker = threading.Thread(target=make, name="bpetite-read-ahead", daemon=True)
    try:
        if not started_thread(maker):
            yield from items
            return
        while True:
            item, error = made.get()
            if error is not None:
                raise error
            if item is None:
                return
            yield item
    finally:
        left.set()
        if maker.is_alive():
            maker.join()


def started_thread(thread: threading.Thread) -> bool:
    """Start a thread; False if the system cannot."""
    try:
        thread.start()
    except RuntimeError:
        return False
    return True
