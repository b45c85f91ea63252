"""Topics by regular expression. RE2's syntax, as Kafka's own coordinator has it: matching takes time linear
in the name, whatever a client sends, and needs no guard against expressions made to explode.

google-re2 is imported when the first member subscribes by expression: most brokers never see one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from penstock.protocol.errors import ErrorCode, KafkaError

LONGEST: Final = 4096  # characters; an automaton costs memory in proportion
_MAX_MEMORY_BYTES: Final = 1 << 20


def matching(regex: str, names: Iterable[str]) -> tuple[str, ...]:
    """The names that match as a whole, in order. KafkaError INVALID_REGULAR_EXPRESSION when it is none."""
    import re2  # type: ignore[import-untyped]

    if len(regex) > LONGEST:
        raise _invalid(regex[:50], f"it is longer than {LONGEST} characters")
    options = re2.Options()
    options.max_mem = _MAX_MEMORY_BYTES
    options.log_errors = False
    try:
        pattern = re2.compile(regex, options)
    except re2.error as error:
        text = error.args[0]
        raise _invalid(
            regex, text.decode(errors="replace") if isinstance(text, bytes) else str(text)
        ) from None
    return tuple(sorted(name for name in names if pattern.fullmatch(name) is not None))


def _invalid(regex: str, why: str) -> KafkaError:
    return KafkaError(
        ErrorCode.INVALID_REGULAR_EXPRESSION,
        f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {why}.",
    )
