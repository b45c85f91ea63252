"""Settings of the server, under the names of a `ksql-server.properties`."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from penstock.client.registry_access import RegistryAccess, take_registry_access
from penstock.settings.errors import invalid

log = logging.getLogger(__name__)
SERVICE_ID: Final = "ksql.service.id"
DEFAULTS: Final[dict[str, str]] = {
    SERVICE_ID: "default_",
    "ksql.schema.registry.url": "",
    "ksql.connect.url": "http://localhost:8083",
    "ksql.streams.auto.offset.reset": "latest",
    "ksql.streams.state.dir": "",
    "ksql.streams.session.timeout.ms": "10000",
    "ksql.advertised.listener": "",
    "ksql.query.retry.backoff.initial.ms": "15000",
    "ksql.query.retry.backoff.max.ms": "900000",
    "ksql.persistence.default.format.key": "KAFKA",
    "ksql.persistence.default.format.value": "",
    "ksql.output.topic.name.prefix": "",
    "ksql.internal.topic.replicas": "1",
    "ksql.query.persistent.active.limit": "2147483647",
    "ksql.max.push.queries": "100",
    "ksql.query.pull.enable.standby.reads": "false",
    "ksql.pull.queries.enable": "true",
    "ksql.query.pull.max.qps": "2147483647",
    "ksql.query.pull.max.concurrent.requests": "2147483647",
    "ksql.query.pull.max.hourly.bandwidth.megabytes": "2147483647",
    "ksql.query.pull.table.scan.enabled": "true",
    "ksql.query.push.v2.enabled": "false",
    "ksql.insert.into.values.enabled": "true",
    "ksql.variable.substitution.enable": "true",
    "ksql.functions.python.enabled": "false",
    "ksql.functions.python.packages": "",
    "ksql.suppress.enabled": "true",
    "ksql.logging.processing.topic.auto.create": "false",
    "ksql.logging.processing.stream.auto.create": "false",
    "ksql.logging.processing.topic.name": "",
    "ksql.logging.processing.stream.name": "KSQL_PROCESSING_LOG",
    "ksql.logging.processing.topic.partitions": "1",
    "ksql.logging.processing.topic.replication.factor": "1",
    "ksql.logging.processing.rows.include": "false",
    "ksql.server.command.response.timeout.ms": "5000",
    "ksql.query.spark.master": "local[*]",
}
"""Every setting with a meaning here; other `ksql.*` names are kept and shown."""
EDITABLE: Final = re.compile(
    r"(ksql\.streams\.)?(auto\.offset\.reset|processing\.guarantee|cache\.max\.bytes\.buffering|"
    r"commit\.interval\.ms|max\.offsets\.per\.trigger|statestore\.cache\.max\.bytes|num\.stream\.threads|"
    r"max\.task\.idle\.ms|penstock\.origin|deserialization\.exception\.handler|(consumer|producer|main\.consumer)\..+)"
    r"|ksql\.(persistence\.default\.format\.(key|value)|output\.topic\.name\.prefix|"
    r"query\.pull\..+|query\.push\..+|suppress\.enabled|variable\.substitution\.enable|"
    r"timestamp\.throw\.on\.invalid|assert\.(topic|schema)\.default\.timeout\.ms|lambdas\.enabled|"
    r"headers\.columns\.enabled|json_sr\.converter\.deserializer\.enabled|create\.or\.replace\.enabled|"
    r"rowpartition\.rowoffset\.enabled|new\.query\.planner\.enabled)"
)
"""What SET may change for a session."""


@dataclass(frozen=True)
class ServerSettings:
    bootstrap_servers: str
    values: Mapping[str, str] = field(default_factory=dict)
    """Everything that was given or has a default, by its full name."""
    client: Mapping[str, str] = field(default_factory=dict)
    """Settings of Kafka clients: security, among others."""
    queries_file: str | None = None
    registry_access: RegistryAccess = field(default_factory=RegistryAccess)
    connect_access: RegistryAccess = field(default_factory=RegistryAccess)
    """How the server comes to Connect's workers: names as those of the registry."""

    @property
    def service_id(self) -> str:
        return self.values[SERVICE_ID]

    @property
    def prefix(self) -> str:
        """What the names of everything internal begin with."""
        return f"_confluent-ksql-{self.service_id}"

    @property
    def command_topic(self) -> str:
        return f"{self.prefix}_command_topic"

    @property
    def processing_log_topic(self) -> str:
        return self.values["ksql.logging.processing.topic.name"] or f"{self.service_id}ksql_processing_log"

    @property
    def registry_url(self) -> str | None:
        return self.values["ksql.schema.registry.url"] or None

    @property
    def replicas(self) -> int:
        return self.number("ksql.internal.topic.replicas")

    def number(self, name: str) -> int:
        return int(self.values[name])

    def flag(self, name: str) -> bool:
        return self.values[name].lower() == "true"

    def application_id(self, query_id: str) -> str:
        return f"{self.prefix}query_{query_id}"

    @property
    def session(self) -> dict[str, str]:
        """What a session has before its first SET: defaults for queries, by their short names."""
        found = {"auto.offset.reset": self.values["ksql.streams.auto.offset.reset"]}
        for name in ("ksql.persistence.default.format.key", "ksql.persistence.default.format.value"):
            if self.values[name]:
                found[name] = self.values[name]
        if self.values["ksql.output.topic.name.prefix"]:
            found["ksql.output.topic.name.prefix"] = self.values["ksql.output.topic.name.prefix"]
        return found


_NUMBERS: Final = tuple(name for name, value in DEFAULTS.items() if value.isdecimal())
_CLIENT: Final = ("security.", "sasl.", "ssl.")
_WITHOUT_EFFECT: Final = (
    "confluent.", "producer.", "consumer.", "access.control.", "compression.type", "metric.", "metrics.",
    "authentication.skip.paths", "authentication.realm", "advertised.listener", "websocket.", "debug",
)  # fmt: skip
"""Names of a real `ksql-server.properties` that say nothing to this server: named in its log."""


def read_settings(bootstrap_servers: str, texts: Mapping[str, str]) -> ServerSettings:
    """Names that are neither `ksql.*` nor those of a Kafka client nor of the REST server are refused."""
    access, left = take_registry_access(texts, "ksql.schema.registry.")
    connect_access, left = take_registry_access(left, "ksql.connect.")
    servers = left.pop("bootstrap.servers", bootstrap_servers)
    queries_file = left.pop("ksql.queries.file", None)
    values, client = dict(DEFAULTS), {}
    for name, value in left.items():
        if name.startswith(_CLIENT):
            client[name] = value
        elif name.startswith("ksql.") or name in ("listeners", "response.http.headers.config"):
            values[name] = value
        elif name.startswith(("auto.offset.reset", "processing.guarantee", "cache.max", "commit.interval")):
            values[f"ksql.streams.{name}"] = value
        elif name.startswith(_WITHOUT_EFFECT):
            log.warning("%s has no effect here", name)
        else:
            raise invalid(name, value, "the SQL server has no such setting", "the names of docs/sql.md")
    for name in _NUMBERS:
        if not values[name].isdecimal():
            raise invalid(name, values[name], "no whole number", "0 or more")
    return ServerSettings(servers, values, client, queries_file, access, connect_access)


def session_name(name: str) -> str:
    """The short name of a setting that SET takes with and without `ksql.streams.`."""
    return name.removeprefix("ksql.streams.")


def is_editable(name: str) -> bool:
    return EDITABLE.fullmatch(name) is not None
