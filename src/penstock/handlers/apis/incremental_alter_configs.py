"""IncrementalAlterConfigs, v0-v1: set, delete, append to and subtract from settings of topics,
groups and brokers.

On purpose unlike Kafka: the levels of a broker's loggers cannot be changed, and are refused.
"""

from __future__ import annotations

from typing import Any, Final

from penstock.controller.configs import Change, Resource, decide_changes
from penstock.controller.image import Image
from penstock.controller.metadata_records import MetadataRecord
from penstock.handlers.config_changes import change_configs
from penstock.handlers.parts import ControllerParts
from penstock.handlers.reply import Reply, Wait
from penstock.handlers.request import Request
from penstock.protocol.apis import Api
from penstock.protocol.messages import read_request
from penstock.security.access import Access, Refusal
from penstock.security.operations import Operation, ResourceType

VERSIONS: Final = (0, 1)
ACCESS: Final = (
    Access(Operation.ALTER_CONFIGS, ResourceType.TOPIC, Refusal.EACH),
    Access(Operation.ALTER_CONFIGS, ResourceType.GROUP, Refusal.EACH),
    Access(Operation.ALTER_CONFIGS, ResourceType.CLUSTER, Refusal.EACH, when="of a broker"),
)


def handle(request: Request, broker: ControllerParts) -> Reply | Wait:
    wanted = read_request(Api.INCREMENTAL_ALTER_CONFIGS, request.version, request.reader)

    def decide(image: Image, resource: Resource, item: Any) -> list[MetadataRecord]:
        changes = [Change(config.name, config.config_operation, config.value) for config in item.configs]
        return decide_changes(image, resource, changes, broker.static_settings)

    return change_configs(request, broker, wanted, decide)
