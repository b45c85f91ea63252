"""AlterUserScramCredentials, v0: set and delete users' passwords for SCRAM (KIP-554). The client sends a
salted password; what is kept cannot be turned back into it."""

from __future__ import annotations

from typing import Final

from penstock.controller.controller import Decision
from penstock.controller.image import Image
from penstock.controller.scram_credentials import Deletion, Upsertion, decide_passwords
from penstock.handlers.parts import ControllerParts
from penstock.handlers.promised import CONTROLLER_SECONDS, decided, reply_when_done
from penstock.handlers.reply import Reply, Wait
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, read_request
from penstock.security.access import Access
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (0, 0)
ACCESS: Final = (Access(Operation.ALTER, ResourceType.CLUSTER),)

Results = dict[str, KafkaError | None]


def handle(request: Request, broker: ControllerParts) -> Reply | Wait:
    wanted = read_request(Api.ALTER_USER_SCRAM_CREDENTIALS, request.version, request.reader)
    deletions = [Deletion(item.name, int(item.mechanism)) for item in wanted.deletions]
    upsertions = [
        Upsertion(
            item.name,
            int(item.mechanism),
            int(item.iterations),
            bytes(item.salt),
            bytes(item.salted_password),
        )
        for item in wanted.upsertions
    ]
    allowed = request.may(broker, Operation.ALTER, ResourceType.CLUSTER)

    def decide(image: Image) -> Decision[Results]:
        if not allowed:
            raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
        return decide_passwords(image, deletions, upsertions)

    promise = broker.controller.submit(decide)

    def encode() -> bytes:
        try:
            results = decided(promise)
        except KafkaError as error:
            names = [wish.name for wish in deletions] + [wish.name for wish in upsertions]
            results = dict.fromkeys(names, error)
        rows = [
            {
                "user": name,
                "error_code": refusal.code if refusal else ErrorCode.NONE,
                "error_message": refusal.message if refusal else None,
            }
            for name, refusal in results.items()
        ]
        fields = {"throttle_time": 0, "results": rows}
        return encode_response(Api.ALTER_USER_SCRAM_CREDENTIALS, request.version, fields)

    return reply_when_done(broker, [promise], encode, seconds=CONTROLLER_SECONDS)
