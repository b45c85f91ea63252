"""What a failure that Spark reports means: worth another attempt, hopeless, or the user's own function.

Spark hands errors of its workers to the driver as text, so text is what there is to look at. This is the only
place that does; `tests/spark/test_failures.py` has the messages as Spark gives them.
"""

from __future__ import annotations

import re
from typing import Final

from penstock.plan.failures import ProcessingError
from penstock.plan.raw_records import BadRecord

# An exception of a Python worker ends the traceback in the message: its type with its module, then its text.
_RAISED: Final = re.compile(r"^(?:\w+(?:\.\w+)*\.)?(?P<type>[A-Z]\w*)(?:: (?P<text>.*))?$", re.MULTILINE)
_OF_THE_APPLICATION: Final[dict[str, type[ProcessingError] | type[BadRecord]]] = {
    "ProcessingError": ProcessingError,
    "BadRecord": BadRecord,
}
# Processes and connections that were lost.
_LOST: Final = re.compile(
    r"penstock\.wire\.|ExecutorLostFailure|Executor heartbeat timed out|Python worker exited unexpectedly|"
    r"Python worker failed to connect back|CANNOT_OPEN_SOCKET|crashed|FetchFailed|fetch failed|"
    r"[Bb]arrier|Connection (reset|refused)|SparkOutOfMemory|Remote RPC client disassociated"
)
# The rows, the options or a person are the reason: no attempt would change that.
_HOPELESS: Final = re.compile(r"\.(OptionError|UnknownTopic|Unsupported|Fenced): |cancelled")


def of_the_application(error: BaseException) -> ProcessingError | BadRecord | None:
    """The error of a user's function or of an unreadable record, as its task raised it; none if it is
    another."""
    if isinstance(error, ProcessingError | BadRecord):
        return error
    for found in reversed(list(_RAISED.finditer(str(error)))):
        kind = _OF_THE_APPLICATION.get(found["type"])
        if kind is not None:
            return kind(found["text"] or "")
    return None


def is_passing(error: BaseException) -> bool:
    """Whether another attempt may succeed: a process or a connection was lost."""
    return of_the_application(error) is None and _LOST.search(str(error)) is not None


def is_hopeless(error: BaseException) -> bool:
    """Whether another attempt fails as surely as this one."""
    return of_the_application(error) is not None or _HOPELESS.search(str(error)) is not None
