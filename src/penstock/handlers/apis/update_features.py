"""UpdateFeatures, v0-v2: raise or lower the levels of features (KIP-584, KIP-778). Either all updates of a
request are made, or none.

The features and their levels are in `penstock.controller.features`.
"""

from __future__ import annotations

from typing import Any, Final

from penstock.controller.controller import Decision
from penstock.controller.features import Update, UpgradeType, decide_features
from penstock.controller.image import Image
from penstock.handlers.parts import ControllerParts
from penstock.handlers.promised import decided, reply_when_done
from penstock.handlers.reply import Outcome
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.protocol.messages import encode_response, milliseconds, read_request
from penstock.security.access import Access
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (0, 2)
ACCESS: Final = (Access(Operation.ALTER, ResourceType.CLUSTER),)
TYPED_FROM: Final = 1


def handle(request: Request, broker: ControllerParts) -> Outcome:
    wanted = read_request(Api.UPDATE_FEATURES, request.version, request.reader)
    updates = [
        Update(item.feature, item.max_version_level, _upgrade_type(item, request.version))
        for item in wanted.feature_updates
    ]

    def decide(image: Image) -> Decision[None]:
        if not request.may(broker, Operation.ALTER, ResourceType.CLUSTER):
            raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
        records = decide_features(image, updates, broker.settings.node_id)
        return ([] if getattr(wanted, "validate_only", False) else records), None

    promise = broker.controller.submit(decide)

    def encode() -> bytes:
        code, message = ErrorCode.NONE, None
        try:
            decided(promise)
        except KafkaError as error:
            code, message = error.code, error.message
        failed = code is not ErrorCode.NONE
        results = [] if failed else [{"feature": update.name, "error_code": code} for update in updates]
        fields = {"throttle_time": 0, "error_code": code, "error_message": message, "results": results}
        return encode_response(Api.UPDATE_FEATURES, request.version, fields)

    return reply_when_done(broker, [promise], encode, seconds=milliseconds(wanted.timeout) / 1000)


def _upgrade_type(item: Any, version: int) -> int:
    if version < TYPED_FROM:
        return UpgradeType.SAFE_DOWNGRADE if item.allow_downgrade else UpgradeType.UPGRADE
    return int(item.upgrade_type)
