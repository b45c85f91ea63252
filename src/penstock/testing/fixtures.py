"""The pytest plugin that comes with the package: ask for `penstock_broker` and have a broker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from penstock.testing.broker import Broker


@pytest.fixture
def penstock_broker() -> Iterator[Broker]:
    """A broker with empty logs, for one test."""
    from penstock.testing.broker import Broker

    with Broker() as broker:
        yield broker
