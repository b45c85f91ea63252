"""Vote, BeginQuorumEpoch, EndQuorumEpoch, FetchSnapshot, and Fetch of the metadata log: the quorum's
requests, in the one version that is spoken. On controllers' listeners only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from penstock.handlers.parts import ControllerParts
from penstock.handlers.quorum.messages import VERSIONS, encode_refusal, encode_response, read_request
from penstock.handlers.reply import Outcome, Reply, Wait
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError

_PATIENCE_SECONDS: Final = 5.0  # Raft answers sooner; a node that stops does not


@dataclass(frozen=True)
class QuorumHandler:
    """The handler of one of these APIs."""

    VERSIONS: tuple[int, int]

    def handle(self, request: Request, broker: ControllerParts) -> Outcome:
        try:
            message = read_request(
                request.api, request.version, request.reader, broker.settings.node_id, 0, broker.cluster_id
            )
        except KafkaError as error:
            return Reply([encode_refusal(request.api, error.code)])
        controller = broker.controller
        promise = controller.receive(lambda number: replace(message, correlation_id=number))
        deadline = broker.clock.monotonic() + _PATIENCE_SECONDS

        def resume(expired: bool) -> Reply | Wait:
            if promise.done:
                return Reply([encode_response(promise.result())])
            if not expired:
                return Wait([promise], deadline, resume)
            controller.forget(promise)
            return Reply([encode_refusal(request.api, ErrorCode.REQUEST_TIMED_OUT)])

        return resume(False)


QUORUM_HANDLERS: Final[dict[Api, QuorumHandler]] = {
    api: QuorumHandler((version, version)) for api, version in VERSIONS.items()
}
