"""Vote, BeginQuorumEpoch, EndQuorumEpoch, FetchSnapshot, and Fetch of the metadata log: the quorum's
requests, in the one version that is spoken. On controllers' listeners only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from penstock.controller.controller import Controller
from penstock.coordinator.promise import Promise
from penstock.handlers.nodes_only import refused_node
from penstock.handlers.parts import ControllerParts
from penstock.handlers.promised import once_done
from penstock.handlers.quorum.messages import VERSIONS, encode_refusal, encode_response, read_request
from penstock.handlers.reply import Outcome, Reply
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.raft.messages import Response
from penstock.security.access import CLUSTER_ACTION, ApiAccess

_PATIENCE_SECONDS: Final = 5.0  # Raft answers sooner; a node that stops does not


@dataclass(frozen=True)
class QuorumHandler:
    """The handler of one of these APIs."""

    VERSIONS: tuple[int, int]
    ACCESS: ApiAccess = CLUSTER_ACTION

    def handle(self, request: Request, broker: ControllerParts) -> Outcome:
        refusal = refused_node(request, broker)
        if refusal is not None:
            return Reply([encode_refusal(request.api, refusal.code)])
        try:
            message = read_request(
                request.api, request.version, request.reader, broker.settings.node_id, 0, broker.cluster_id
            )
        except KafkaError as error:
            return Reply([encode_refusal(request.api, error.code)])
        controller = broker.controller
        promise = controller.receive(lambda number: replace(message, correlation_id=number))
        answer = partial(_answer, request.api, controller, promise)
        return once_done(broker, promise, answer, seconds=_PATIENCE_SECONDS)


def _answer(api: Api, controller: Controller, promise: Promise[Response]) -> Reply:
    if promise.done:
        return Reply([encode_response(promise.result())])
    controller.forget(promise)
    return Reply([encode_refusal(api, ErrorCode.REQUEST_TIMED_OUT)])


QUORUM_HANDLERS: Final[dict[Api, QuorumHandler]] = {
    api: QuorumHandler((version, version)) for api, version in VERSIONS.items()
}
