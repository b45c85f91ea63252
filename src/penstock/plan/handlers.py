"""What a host does about whatever fails in a task: one value that travels to the workers with the plan."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.plan.failures import OnFailure, skip_processing
from penstock.plan.raw_records import OnBadRecord, skip
from penstock.plan.task import OnExpressionFailure, ignore_failure


@dataclass(frozen=True)
class Handlers:
    """Each may give a record, which is written with the results of the batch: the processing log."""

    on_bad_record: OnBadRecord = skip
    on_failure: OnFailure = skip_processing
    on_expression_failure: OnExpressionFailure = ignore_failure
