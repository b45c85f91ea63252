"""Answers that rest on promises of a coordinator or of the controller: given at once when they are done,
waited for otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from penstock.coordinator.promise import Promise
from penstock.handlers.parts import Timed
from penstock.handlers.reply import Reply, Wait
from penstock.protocol.errors import ErrorCode, KafkaError

T = TypeVar("T")

CONTROLLER_SECONDS: Final = 30.0
"""How long it waits for the controller, where the client does not say: Kafka's `request.timeout.ms`."""


def commit_deadline(broker: Timed) -> float:
    """Until when an answer waits for the commitment of what it rests on."""
    return broker.clock.monotonic() + broker.settings.offsets_commit_timeout_ms / 1000


def reply_when_done(
    broker: Timed,
    promises: Iterable[Promise[Any]],
    encode: Callable[[], bytes],
    *,
    seconds: float | None = None,
    throttle_ms: int = 0,
) -> Reply | Wait:
    """`encode` reads the promises with `outcome`; at the deadline some of them may not be done."""
    deadline = commit_deadline(broker) if seconds is None else broker.clock.monotonic() + seconds
    return _when_done(list(promises), deadline, lambda: Reply([encode()], throttle_ms), False)


def _when_done(
    watched: Sequence[Promise[Any]], deadline: float, proceed: Callable[[], Reply | Wait], expired: bool
) -> Reply | Wait:
    """A function of its own: one within another that names itself leaves a cycle for the collector."""
    # A promise that is done would wake the request at once, again and again until the last one is done.
    pending = [promise for promise in watched if not promise.done]
    if expired or not pending:
        return proceed()
    return Wait(pending, deadline, partial(_when_done, pending, deadline, proceed))


def outcome(promise: Promise[T]) -> T:
    """What was promised; KafkaError when it was refused, or is not known to be committed by the deadline."""
    if not promise.done:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "The coordinator did not answer in time.")
    return promise.result()


def decided(promise: Promise[T]) -> T:
    """What the controller has decided; KafkaError when it refused, or has not committed by the deadline."""
    if not promise.done:
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, "The controller did not commit the change in time.")
    return promise.result()


def once_done(
    broker: Timed,
    promise: Promise[Any],
    proceed: Callable[[], Reply | Wait],
    *,
    seconds: float | None = None,
) -> Reply | Wait:
    """Go on when the promise is done; at the deadline too, and then `outcome` says that it was not."""
    deadline = commit_deadline(broker) if seconds is None else broker.clock.monotonic() + seconds
    return _when_done([promise], deadline, proceed, False)
