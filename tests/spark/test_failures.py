"""Messages in the wording of Spark 4, some of them captured and the others shortened or written after its
sources, and what they mean."""

from __future__ import annotations

import pytest

from penstock.plan.failures import ProcessingError
from penstock.plan.raw_records import BadRecord
from penstock.spark.failures import is_hopeless, is_passing, of_the_application

WORKER = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/site-packages/penstock/spark/sharding.py", line 68, in pack
    for batch in batches:
  File "/site-packages/penstock/kernels/context.py", line 65, in forward
    process(record)
  File "/app/orders.py", line 6, in price
    return 1 / int(value)
           ~~^~~~~~~~~~~~
ZeroDivisionError: division by zero

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/site-packages/penstock/plan/task.py", line 259, in step
    self.process(raw)
{error}
"""
SENTENCE = (
    "node KSTREAM-MAPVALUES-0000000001 (orders.py:12) failed on the record at offset 3 of orders-1: "
    "ZeroDivisionError: the worker crashed, Connection refused (orders.py:6 in price)"
)
PASSING = [
    "Python worker failed to connect back.",
    "[CANNOT_OPEN_SOCKET] Can not open socket: tried to connect to ('127.0.0.1', 40003), but an error "
    "occurred: [Errno 111] Connection refused",
    "Job aborted due to stage failure: Task 0 in stage 3.0 failed 4 times, most recent failure: Lost task "
    "0.3 in stage 3.0 (TID 7) (worker-2 executor 2): ExecutorLostFailure (executor 2 exited caused by "
    "one of the running tasks) Reason: Executor heartbeat timed out after 139519 ms",
    "Job aborted due to stage failure: Could not recover from a failed barrier ResultStage. Most recent "
    "failure reason: Stage failed because barrier task ResultTask(4, 0) finished unsuccessfully.",
    "Job aborted due to stage failure: ShuffleMapStage 9 has failed the maximum allowable number of times: "
    "4. Most recent failure reason: org.apache.spark.shuffle.FetchFailedException",
    "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)",
    "Remote RPC client disassociated. Likely due to containers exceeding thresholds, or network issues.",
    WORKER.format(error="penstock.wire.errors.DeadlineExceeded: nothing came for 60 s"),
]
HOPELESS = [
    WORKER.format(error="penstock.spark.options.OptionError: rows have no column topic"),
    WORKER.format(error="penstock.wire.errors.UnknownTopic: topic 'orders' does not exist"),
    "Job 3 cancelled part of cancelled job group 4ab0957d-0d22-4ef2-99d9-76b2a4d0025a",
]


@pytest.mark.parametrize("message", PASSING)
def test_lost_processes_and_connections_may_be_tried_again(message: str) -> None:
    assert is_passing(RuntimeError(message))
    assert of_the_application(RuntimeError(message)) is None


@pytest.mark.parametrize("message", HOPELESS)
def test_wrong_options_and_cancelled_jobs_are_hopeless(message: str) -> None:
    assert is_hopeless(RuntimeError(message))


def test_the_error_of_a_users_function_is_found_and_never_tried_again() -> None:
    error = RuntimeError(WORKER.format(error=f"penstock.plan.failures.ProcessingError: {SENTENCE}"))
    found = of_the_application(error)
    assert isinstance(found, ProcessingError)
    assert str(found) == SENTENCE
    assert is_hopeless(error)
    assert not is_passing(error), "whatever the user's message says"


def test_an_unreadable_record_is_found_as_well() -> None:
    text = "the record of numbers-0 at offset 0 cannot be read: 3 bytes of numbers where 8 were expected"
    found = of_the_application(
        RuntimeError(WORKER.format(error=f"penstock.plan.raw_records.BadRecord: {text}"))
    )
    assert isinstance(found, BadRecord)
    assert str(found) == text


def test_any_other_error_is_neither() -> None:
    error = RuntimeError("[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0")
    assert not is_passing(error)
    assert not is_hopeless(error)
    assert of_the_application(error) is None
