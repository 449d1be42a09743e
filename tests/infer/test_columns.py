"""Columns hold what was told, however wide, in as few bytes as that takes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sealkit.infer.columns import NULL, Column, packed, roomy, unpacked

numbers = st.one_of(st.just(NULL), st.integers(-300, 300), st.integers(1 - 2**53, 2**53 - 1), st.sampled_from(
    [127, 128, -127, -128, -129, 2**15 - 1, 2**15, -(2**15), 2**31 - 1, 2**31, -(2**31), 2**53 - 1]
))  # fmt: skip


@given(st.lists(numbers, max_size=40))
def test_what_is_appended_is_read(values: list[int]) -> None:
    column = Column()
    for value in values:
        column.append(value)
    assert column.all().tolist() == values and len(column) == len(values)


@given(st.dictionaries(st.integers(0, 20), numbers))
def test_what_is_put_is_read_at_its_place_and_nothing_elsewhere(values: dict[int, int]) -> None:
    column = Column(21)
    for place, value in values.items():
        column.put(place, value)
    assert column.all().tolist() == [values.get(place, NULL) for place in range(21)]
    assert column.at(np.array([3, 3, 20])).tolist() == [values.get(place, NULL) for place in (3, 3, 20)]


@pytest.mark.parametrize(("value", "width"), [(0, 1), (127, 1), (-127, 1), (128, 2), (-128, 2), (2**15, 4), (2**31, 8)])
def test_it_is_no_wider_than_its_numbers_need(value: int, width: int) -> None:
    column = Column(5)
    column.put(2, value)
    assert column.bytes_each == width


@given(st.lists(st.integers(-(2**53), 2**53), max_size=20))
def test_packing_keeps_the_numbers(values: list[int]) -> None:
    whole = np.array(values, dtype=np.int64)
    assert unpacked(packed(whole)).tolist() == values
    assert unpacked(packed(whole)).dtype == np.int64


def test_packed_numbers_take_few_bytes() -> None:
    assert packed(np.array([0, 1, 1])).dtype.itemsize == 1
    assert packed(np.array([-1, 200])).dtype.itemsize == 2


@given(st.lists(st.integers(1 - 2**53, 2**53 - 1), min_size=1, max_size=5), st.integers(1, 2**40))
def test_roomy_numbers_never_overflow(values: list[int], times: int) -> None:
    found = roomy(np.array(values, dtype=np.int64), times=times) * times
    assert found.tolist() == [value * times for value in values]
    assert Fraction(int(found[0]), times) == values[0]
