"""Runs the plan of one query. What it writes to topics of its own goes in again at once."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from penstock.expressions.environment import ExpressionFailure
from penstock.kernels.record import Headers
from penstock.plan.failures import Failure
from penstock.plan.plan import Plan
from penstock.plan.python_runtime import InProcess
from penstock.plan.raw_records import Produced, RawRecord
from penstock.plan.rules import rewrite
from penstock.plan.task import Task

Log = Callable[[str], None]


class QueryDriver:
    def __init__(self, plan: Plan, name: str, log: Log) -> None:
        self._log = log
        self._task = Task(
            rewrite(plan),
            application_id=name,
            on_bad_record=self._bad_record,
            on_failure=self._failure,
            on_expression_failure=self._expression,
            random=Random(0),
            python=InProcess(),
        )
        self._offsets: dict[str, int] = {}

    def reads(self, topic: str) -> bool:
        return self._task.reads(topic)

    def pipe(
        self, topic: str, key: bytes | None, value: bytes | None, timestamp: int, headers: Headers = ()
    ) -> list[Produced]:
        """The records that one record makes, internal topics left out."""
        waiting = [Produced(topic, key, value, timestamp, headers)]
        results: list[Produced] = []
        while waiting:
            produced: list[Produced] = []
            for record in waiting:
                produced += self._task.step([self._raw(record)])
            waiting = [record for record in produced if self._task.reads(record.topic)]
            results += [record for record in produced if not self._task.reads(record.topic)]
        return results

    def _raw(self, record: Produced) -> RawRecord:
        offset = self._offsets.get(record.topic, 0)
        self._offsets[record.topic] = offset + 1
        return RawRecord(record.topic, 0, offset, record.timestamp, record.key, record.value, record.headers)

    def close(self) -> None:
        self._task.close()

    def _bad_record(self, record: RawRecord, error: Exception) -> None:
        self._log(f"{record.topic} at {record.offset}: {error}")

    def _failure(self, failure: Failure) -> None:
        self._log(f"{failure.node}: {failure.error}")

    def _expression(self, node: str, failure: ExpressionFailure) -> None:
        self._log(f"{node}: {failure.message}")
