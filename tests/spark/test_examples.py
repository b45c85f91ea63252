"""The examples on a broker and Spark give what the test driver gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.streams import Application
from penstock.testing import Broker
from tests.examples.cases import CASES, IN_BRIEF, Case, expected, gathered, prepare, records

pytestmark = pytest.mark.timeout(300)

WAIT_S = 120


@pytest.mark.parametrize(
    "case_of",
    [
        pytest.param(
            case, id=case.__name__.removesuffix("_case"), marks=() if case in IN_BRIEF else pytest.mark.long
        )
        for case in CASES
    ],
)
def test_an_example_gives_on_spark_what_it_gives_in_the_test_driver(
    case_of: Callable[[], Case], spark: SparkSession, tmp_path: Path
) -> None:
    case = case_of()
    with Broker() as broker:
        prepare(broker.bootstrap_servers, case)
        run_to_the_end(broker.bootstrap_servers, case, spark, tmp_path)
        for topic in case.outputs:
            found = gathered(case, records(broker.bootstrap_servers, topic))
            assert found == expected(case, topic), topic
            assert found, "nothing was written"


def run_to_the_end(servers: str, case: Case, spark: SparkSession, state_dir: Path) -> None:
    application = Application(case.topology, case.application_id, servers, state_dir=state_dir)
    application.start(spark, {"availableNow": True})
    assert application.wait(WAIT_S), f"it did not end, it is {application.state}"
    application.close()
    assert application.error is None, application.error
