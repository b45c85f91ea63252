"""What a route of the REST Proxy needs of the broker, by name."""

from __future__ import annotations

from typing import Final

from penstock.security.access import ByBroker
from penstock.security.operations import Operation, ResourceType

SEES_CLUSTER: Final = ByBroker(Operation.DESCRIBE, ResourceType.CLUSTER)
SEES_TOPIC: Final = ByBroker(Operation.DESCRIBE, ResourceType.TOPIC)
ALTERS_CLUSTER: Final = ByBroker(Operation.ALTER, ResourceType.CLUSTER)
CREATES_TOPIC: Final = ByBroker(Operation.CREATE, ResourceType.TOPIC)
ALTERS_TOPIC: Final = ByBroker(Operation.ALTER, ResourceType.TOPIC)
DELETES_TOPIC: Final = ByBroker(Operation.DELETE, ResourceType.TOPIC)
WRITES_TOPIC: Final = ByBroker(Operation.WRITE, ResourceType.TOPIC)
READS_TOPIC: Final = ByBroker(Operation.READ, ResourceType.TOPIC)
READS_GROUP: Final = ByBroker(Operation.READ, ResourceType.GROUP)
DELETES_GROUP: Final = ByBroker(Operation.DELETE, ResourceType.GROUP)
SEES_GROUP: Final = ByBroker(Operation.DESCRIBE, ResourceType.GROUP)
SEES_TOPIC_CONFIGS: Final = ByBroker(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC)
ALTERS_TOPIC_CONFIGS: Final = ByBroker(Operation.ALTER_CONFIGS, ResourceType.TOPIC)
SEES_BROKER_CONFIGS: Final = ByBroker(Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER)
ALTERS_BROKER_CONFIGS: Final = ByBroker(Operation.ALTER_CONFIGS, ResourceType.CLUSTER)
