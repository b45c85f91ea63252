"""Names by regular expression: topics that a member subscribes to, transactional ids that a tool lists.

RE2's syntax, as Kafka's own coordinators have it: matching takes time linear in the name,
whatever a client sends, and needs no guard against expressions made to explode.

google-re2 is imported when the first expression comes: most brokers never see one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from penstock.protocol.errors import ErrorCode, KafkaError

LONGEST: Final = 4096  # characters; an automaton costs memory in proportion
_MAX_MEMORY_BYTES: Final = 1 << 20


def matcher(regex: str, field: str) -> Callable[[str], bool]:
    """Whether a name matches as a whole. KafkaError INVALID_REGULAR_EXPRESSION when it is none; `field` says
    where it came from."""
    import re2  # type: ignore[import-untyped]

    if len(regex) > LONGEST:
        raise _invalid(regex[:50], field, f"it is longer than {LONGEST} characters")
    options = re2.Options()
    options.max_mem = _MAX_MEMORY_BYTES
    options.log_errors = False
    try:
        pattern = re2.compile(regex, options)
    except re2.error as error:
        text = error.args[0]
        why = text.decode(errors="replace") if isinstance(text, bytes) else str(text)
        raise _invalid(regex, field, why) from None
    return lambda name: pattern.fullmatch(name) is not None


def matching(regex: str, names: Iterable[str]) -> tuple[str, ...]:
    """The topics that match, in order."""
    matches = matcher(regex, "SubscribedTopicRegex")
    return tuple(sorted(name for name in names if matches(name)))


def _invalid(regex: str, field: str, why: str) -> KafkaError:
    return KafkaError(
        ErrorCode.INVALID_REGULAR_EXPRESSION, f"{field} `{regex}` is not a valid regular expression: {why}."
    )
