"""`python -m tests.spark.examples_on_a_master MASTER DIR`: every example on this Spark master, judged as in
`test_examples`. A process of its own, because a process has one Spark session."""

from __future__ import annotations

import sys
from pathlib import Path

import penstock.spark
from tests.examples.cases import CASES
from tests.spark.test_examples import test_an_example_gives_on_spark_what_it_gives_in_the_test_driver as judge


def main(master: str, directory: Path) -> None:
    spark = penstock.spark.session("examples", master=master)
    for case in CASES:
        judge(case, spark, directory / case.__name__)
        print(case.__name__, flush=True)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
