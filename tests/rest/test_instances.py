"""The table of consumer instances: unique, bounded, expiring."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.rest.errors import RestError
from penstock.rest.instances import InstanceTable

NOBODY: Any = object()


def test_an_instance_expires_when_nobody_uses_it_and_not_before() -> None:
    table = InstanceTable(most=10, timeout_s=5.0)
    row = table.reserve(("g", "a"), now=0.0)
    assert table.expired(now=100.0) == []  # it is still being made
    row.consumer = NOBODY
    assert table.expired(now=4.9) == []
    assert table.expired(now=5.0) == [("g", "a")]
    table.touch(row, now=5.0)
    assert table.expired(now=9.9) == []
    row.waiting = 1
    assert table.expired(now=100.0) == []


def test_names_are_unique_in_a_group_and_free_again_after_removal() -> None:
    table = InstanceTable(most=10, timeout_s=5.0)
    table.reserve(("g", "a"), now=0.0)
    table.reserve(("h", "a"), now=0.0)
    with pytest.raises(RestError) as refused:
        table.reserve(("g", "a"), now=0.0)
    assert refused.value.error_code == 40902
    table.remove(("g", "a"))
    table.reserve(("g", "a"), now=0.0)


def test_the_table_is_bounded() -> None:
    table = InstanceTable(most=1, timeout_s=5.0)
    table.reserve(("g", "a"), now=0.0)
    with pytest.raises(RestError) as refused:
        table.reserve(("g", "b"), now=0.0)
    assert (refused.value.status, refused.value.error_code) == (429, 42901)


def test_an_instance_that_is_being_made_is_not_there_yet() -> None:
    table = InstanceTable(most=1, timeout_s=5.0)
    table.reserve(("g", "a"), now=0.0)
    with pytest.raises(RestError) as refused:
        table.find(("g", "a"))
    assert refused.value.error_code == 40403
