"""AlterConfigs, v0-v2: replaces all settings of topics, groups and brokers. Old clients use it; newer ones
send IncrementalAlterConfigs."""

from __future__ import annotations

from typing import Any, Final

from penstock.controller.configs import Resource, decide_replacement
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

VERSIONS: Final = (0, 2)
ACCESS: Final = (
    Access(Operation.ALTER_CONFIGS, ResourceType.TOPIC, Refusal.EACH),
    Access(Operation.ALTER_CONFIGS, ResourceType.GROUP, Refusal.EACH),
    Access(Operation.ALTER_CONFIGS, ResourceType.CLUSTER, Refusal.EACH, when="of a broker"),
)


def handle(request: Request, broker: ControllerParts) -> Reply | Wait:
    wanted = read_request(Api.ALTER_CONFIGS, request.version, request.reader)

    def decide(image: Image, resource: Resource, item: Any) -> list[MetadataRecord]:
        values = [(config.name, config.value) for config in item.configs]
        return decide_replacement(image, resource, values, broker.static_settings)

    return change_configs(request, broker, wanted, decide)
