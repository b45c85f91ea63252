"""Quotas on the way of a request: the time it takes is accounted for, and an answer says how long its client
is muted (KIP-219). Used by sessions while a quota is set, and by handlers whose requests change the metadata.

On purpose unlike Kafka: a fetch that is throttled for the time of its requests keeps its records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from penstock.handlers.broker import Broker
from penstock.handlers.parts import Charges
from penstock.handlers.reply import NoReply, Outcome, Part, Reply, Wait
from penstock.handlers.request import Request
from penstock.protocol.apis import FIRST_FLEXIBLE, Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.quotas.clients import MutationQuota

Handle = Callable[[Request, Broker], Outcome]

FIRST_FIELD_FROM: Final[dict[Api, int]] = {
    Api.FETCH: 1,
    Api.LIST_OFFSETS: 2,
    Api.METADATA: 3,
    Api.OFFSET_COMMIT: 3,
    Api.OFFSET_FETCH: 3,
    Api.FIND_COORDINATOR: 1,
    Api.JOIN_GROUP: 2,
    Api.HEARTBEAT: 1,
    Api.LEAVE_GROUP: 1,
    Api.SYNC_GROUP: 1,
    Api.DESCRIBE_GROUPS: 1,
    Api.LIST_GROUPS: 1,
    Api.CREATE_TOPICS: 2,
    Api.DELETE_TOPICS: 1,
}
"""From which version on the throttle time is the first field of the answer. It always is for APIs that are
neither here nor in `ELSEWHERE`."""

ELSEWHERE: Final = frozenset(
    {
        *(Api.PRODUCE, Api.API_VERSIONS, Api.OFFSET_DELETE, Api.SASL_HANDSHAKE, Api.SASL_AUTHENTICATE),
        *(Api.WRITE_TXN_MARKERS, Api.DESCRIBE_QUORUM, Api.CREATE_DELEGATION_TOKEN),
        *(Api.RENEW_DELEGATION_TOKEN, Api.EXPIRE_DELEGATION_TOKEN, Api.DESCRIBE_DELEGATION_TOKEN),
        *(Api.INITIALIZE_SHARE_GROUP_STATE, Api.READ_SHARE_GROUP_STATE, Api.WRITE_SHARE_GROUP_STATE),
        *(Api.DELETE_SHARE_GROUP_STATE, Api.READ_SHARE_GROUP_STATE_SUMMARY),
    }
)
"""Answers with the throttle time in another place, or without it. Clients of these are muted all the same."""


def handle_timed(handle: Handle, request: Request, broker: Broker) -> Outcome:
    """Serve a request and charge its client for the time."""
    began = broker.clock.monotonic()
    outcome = handle(request, broker)
    return _charged(outcome, request, broker, broker.clock.monotonic() - began)


def _charged(outcome: Outcome, request: Request, broker: Broker, seconds: float) -> Outcome:
    if isinstance(outcome, Wait):
        return outcome.wrapped_by(partial(_resumed, outcome, request, broker, seconds))
    throttle_ms = broker.quotas.spent(request.principal.name, request.client_id, seconds)
    if throttle_ms <= outcome.throttle_ms:
        return outcome
    if isinstance(outcome, NoReply):
        return NoReply(throttle_ms)
    return Reply(_patched(request.api, request.version, outcome.parts, throttle_ms), throttle_ms)


def _resumed(waiting: Wait, request: Request, broker: Broker, seconds: float, expired: bool) -> Reply | Wait:
    began = broker.clock.monotonic()
    outcome = waiting.resume(expired)
    charged = _charged(outcome, request, broker, seconds + broker.clock.monotonic() - began)
    assert not isinstance(charged, NoReply), "a request that waits is answered"
    return charged


def _patched(api: Api, version: int, parts: Sequence[Part], throttle_ms: int) -> list[Part]:
    """The answer with its throttle time filled in; it was encoded before the time was known."""
    told = list(parts)
    head = told[0]
    assert isinstance(head, bytes)
    number = throttle_ms.to_bytes(4, "big")
    if api is Api.PRODUCE:
        end = len(head) - (1 if version >= FIRST_FLEXIBLE[api] else 0)
        told[0] = head[: end - 4] + number + head[end:]
    elif api not in ELSEWHERE and version >= FIRST_FIELD_FROM.get(api, 0):
        told[0] = number + head[4:]
    return told


class Mutations:
    """What one request changes in the metadata, against its client's quota.

    From `strict_from` on a change beyond the quota is refused; before, it is made and its client muted.
    """

    def __init__(self, request: Request, broker: Charges, *, strict_from: int) -> None:
        strict = request.version >= strict_from
        self._quota: MutationQuota = broker.quotas.mutations(
            request.principal.name, request.client_id, strict=strict
        )

    def take(self, partitions: int) -> None:
        """Raises KafkaError when that many partitions must not be made or deleted now."""
        if not self._quota.take(partitions):
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "The throttling quota has been exceeded.")

    @property
    def throttle_ms(self) -> int:
        return self._quota.throttle_ms()
