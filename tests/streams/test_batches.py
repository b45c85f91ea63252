"""However records are cut into batches, tables end with the same rows."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.streams import TopologyTestDriver
from tests.golden.streams.topologies import ALL, build
from tests.streams.test_goldens import SCENARIOS, rows

OF_TABLES = [
    name
    for name in ALL
    if name.startswith(("count", "group by", "reduce", "aggregate", "table", "to table", "cogroup"))
    or name.endswith((" count", " reduce", " aggregate", "cogroup"))
]
UNORDERED = ("reduce", "group reduce", "group aggregate", "group count", "then group", "suppress")
"""Their results tell when rows came and went, which no batch keeps, nor does Kafka's cache."""


def final_rows(topology: str, inputs: list[list[Any]], size: int | None) -> dict[Any, Any]:
    with TopologyTestDriver(build(topology), emit_every_update=size is None) as driver:
        given = [record for record in inputs if driver.reads(record[0])]
        for at in range(0, len(given), size or 1):
            driver.pipe_all([tuple(record[:4]) for record in given[at : at + (size or 1)]])
        final = {key: value for key, value, *_ in rows(driver, "out")}
    return {key: value for key, value in final.items() if value is not None}


@pytest.mark.parametrize("size", [7, 1000])
@pytest.mark.parametrize("topology", [name for name in OF_TABLES if not name.endswith(UNORDERED)])
def test_a_table_ends_with_the_same_rows_however_its_records_are_cut(topology: str, size: int) -> None:
    inputs = SCENARIOS["inputs"]["two late topics"]
    if "cogroup" in topology or "join" in topology:  # a batch takes two topics in the order of their times
        inputs = [[topic, key, value, at] for at, (topic, key, value, _) in enumerate(inputs)]
    assert final_rows(topology, inputs, size) == final_rows(topology, inputs, None)
