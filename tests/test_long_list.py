"""A list that keeps its values in a temporary file is a list."""

from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite._internal import long_list
from bpetite._internal.long_list import LongList
from bpetite.reading import sources
from bpetite.reading.sources import find_inputs


@given(
    values=st.lists(st.text(max_size=5), max_size=40),
    more=st.lists(st.text(max_size=5), max_size=9),
    first=st.integers(-50, 50),
    after=st.none() | st.integers(-50, 50),
    block=st.integers(1, 9),
    in_memory=st.sampled_from([1, 30, 1 << 20]),
)
def test_values_are_those_of_a_list(
    values: list[str], more: list[str], first: int, after: int | None, block: int, in_memory: int
) -> None:
    with mock.patch.multiple(long_list, _BLOCK=block, _IN_MEMORY=in_memory):
        kept = LongList(str, lambda value: (value,), values)
        assert list(kept) == values
        assert kept == values
        kept.extend(more)
        values = values + more
        assert (len(kept), list(kept), kept == values, values == kept) == (len(values), values, True, True)
        assert kept == LongList(str, lambda value: (value,), values)
        assert kept != [*values, "a"]
        assert kept != [value + "a" for value in values] or not values
        assert kept[first:after] == values[first:after]
        assert list(map(kept.__getitem__, range(len(values)))) == values
        with pytest.raises(IndexError):
            kept[len(values)]
        assert kept != 1


@pytest.mark.parametrize("at_once", [1, 3, 1 << 17])
def test_any_number_of_names_is_sorted_and_each_comes_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(sources, "_SORTED_AT_ONCE", at_once)
    names = [f"{number * 37 % 101}-\u00e9/{number % 7}" for number in range(60)] + [
        "a",
        "a-b",
        "a.txt",
        "b/a",
    ]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    expected: Any = sorted((str(tmp_path / name) for name in names), key=str.encode)
    assert [found.name for found in find_inputs(tmp_path)] == expected
    assert [found.name for found in find_inputs(tmp_path / "**")] == expected
    (tmp_path / "b" / "gone").symlink_to("nowhere")
    with pytest.raises(ValueError, match=r"1 of 65 inputs cannot be read: .*gone"):
        find_inputs(tmp_path)
