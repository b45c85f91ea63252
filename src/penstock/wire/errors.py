"""What can go wrong between us and a broker. Each message names the address or the topic, and what to do.

WireError
 ├── Unreachable        nothing answers at the address
 ├── Disconnected       the connection broke while an answer was awaited; what was asked may have happened
 ├── DeadlineExceeded   no answer, or no good one, in the time that was given
 ├── Malformed          the answer is not a message of the protocol, or larger than we allow
 ├── NotAuthenticated   the broker does not believe us, or we do not believe the broker
 ├── Unsupported        broker and client have no version of an API in common
 ├── Refused            the broker answered with an error code
 │    ├── UnknownTopic
 │    ├── Fenced        our producer epoch is over: somebody else owns the transactional id
 │    └── OffsetOutOfRange
 └── DeliveryFailed     records that were to be produced were not; some of them may have been
"""

from __future__ import annotations

from penstock.protocol.errors import ErrorCode, KafkaError


class WireError(Exception):
    """Anything in this module; catch it to catch them all."""

    retriable: bool = False
    """Whether asking again, perhaps another broker, may help."""


class Unreachable(WireError):
    retriable = True


class Disconnected(WireError):
    retriable = True


class DeadlineExceeded(WireError):
    retriable = True  # by whoever has more time than the one who gave up


class Malformed(WireError):
    pass


class NotAuthenticated(WireError):
    """A certificate, a password or a token was refused; asking again would not help."""


class Unsupported(WireError):
    pass


class Refused(WireError):
    """The broker said no. `code` is Kafka's."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.retriable = KafkaError(code).retriable


class UnknownTopic(Refused):
    """Not retried: who waits for a topic to appear says so itself."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
        self.retriable = False


class Fenced(Refused):
    """Nothing that this owner of a transactional id does will be taken any more."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(code, message)
        self.retriable = False


class OffsetOutOfRange(Refused):
    """The log does not reach to the wanted offset, or no longer does."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.OFFSET_OUT_OF_RANGE, message)


class DeliveryFailed(WireError):
    pass


def error_code(number: int) -> ErrorCode:
    """A code that a newer broker may know and we do not is an unknown server error."""
    try:
        return ErrorCode(number)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR
