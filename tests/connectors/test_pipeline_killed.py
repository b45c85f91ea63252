"""PostgreSQL to MariaDB through topics, while workers, Spark's processes and both databases are killed.

At the end both tables are to be equal to those they came from, and no row may have come twice: neither into
the topic nor, by insertion, into the table.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from penstock.testing.broker import Broker
from tests.connectors.chain import Chain
from tests.faults.pipeline_kills import Deck

KILLS = 36
"""Six of each kind."""
IDS = "SELECT id FROM events ORDER BY id"


@pytest.fixture
def chain(broker: Broker, tmp_path: Path, seed: int) -> Iterator[Chain]:
    made = Chain(broker, tmp_path, Random(seed))
    try:
        made.start()
        yield made
    finally:
        made.close()


@pytest.mark.claim("A15")
@pytest.mark.long
@pytest.mark.timeout(3600)
def test_nothing_is_lost_or_written_twice(chain: Chain, seed: int) -> None:
    chooser = Random(seed)
    deck = Deck(chain.ways(), chooser, ())
    while deck.kills.total() < KILLS:
        chain.goes_on()
        time.sleep(chooser.uniform(0, 2.0))  # any point of a batch
        deck.kill()
        print(time.strftime("%X"), dict(deck.kills), chain.arrived(), flush=True)
    chain.goes_on()
    chain.writer.end()
    for table in ("events", "accounts"):
        chain.await_true(lambda table=table: chain.equal(table), f"{table} is equal")  # type: ignore[misc]
    count = chain.arrived()
    assert sorted(chain.ids_in_topic()) == [each for (each,) in chain.source.run(IDS)]
    print(f"{dict(deck.kills)}, {count} events, seed {seed}")
