"""Settings of a worker, under Kafka's names. A name that Kafka has and that means nothing here is passed over
with a warning."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from penstock.connect.api.config_def import ConfigDef, Kind, at_least
from penstock.connect.config.validation import Defaults
from penstock.connect.converters.table import CONVERTERS, HEADER_CONVERTERS, full_name
from penstock.connect.errors import ConfigError
from penstock.security.client_settings import ClientSettings, ClientSettingsError
from penstock.settings.errors import SettingError, invalid

_log = logging.getLogger(__name__)
_JSON: Final = "org.apache.kafka.connect.json.JsonConverter"
_SIMPLE: Final = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
ALLOWED_PATHS: Final = "penstock.allowed.paths"
ANY_PATH: Final = "/"

_WORKER: Final = (
    ConfigDef()
    .define("bootstrap.servers", Kind.STRING, "localhost:9092")
    .define("group.id", Kind.STRING, "connect-cluster")
    .define("config.storage.topic", Kind.STRING, "connect-configs")
    .define("offset.storage.topic", Kind.STRING, "connect-offsets")
    .define("status.storage.topic", Kind.STRING, "connect-status")
    .define("config.storage.replication.factor", Kind.SHORT, 3)
    .define("offset.storage.replication.factor", Kind.SHORT, 3)
    .define("status.storage.replication.factor", Kind.SHORT, 3)
    .define("offset.storage.partitions", Kind.INT, 25)
    .define("status.storage.partitions", Kind.INT, 5)
    .define("offset.storage.file.filename", Kind.STRING, "")
    .define("key.converter", Kind.CLASS, _JSON)
    .define("value.converter", Kind.CLASS, _JSON)
    .define("header.converter", Kind.CLASS, _SIMPLE)
    .define("plugin.path", Kind.STRING, "")
    .define("session.timeout.ms", Kind.INT, 10_000, validator=at_least(1000))
    .define("listeners", Kind.STRING, "http://127.0.0.1:8083")
    .define("rest.advertised.host.name", Kind.STRING, None)
    .define("rest.advertised.port", Kind.INT, None)
    .define(ALLOWED_PATHS, Kind.STRING, "")
    .define("penstock.spark.master", Kind.STRING, "local[*]")
)


@dataclass(frozen=True)
class WorkerSettings:
    given: Mapping[str, str]
    """Everything as it was written, for config providers and for the settings of converters."""
    client: ClientSettings
    group_id: str
    config_topic: str
    offset_topic: str
    status_topic: str
    replicas: Mapping[str, int]
    """By topic, at most; fewer where there are fewer brokers."""
    partitions: Mapping[str, int]
    defaults: Defaults
    plugin_path: str
    session_timeout_ms: int
    listen: tuple[str, int]
    advertised: tuple[str | None, int | None]
    allowed_paths: str
    """Directories, with commas between them, in which connectors may open files; `/` allows every path."""
    offset_file: str
    """Where a standalone worker keeps the offsets of sources; empty for a topic."""
    spark_master: str
    spark: Mapping[str, str] = field(default_factory=dict)
    distributed: bool = True

    @property
    def librdkafka(self) -> dict[str, Any]:
        """How librdkafka reaches the brokers."""
        prefixes = ("security.", "sasl.", "ssl.")
        return {name: value for name, value in self.given.items() if name.startswith(prefixes)}


def read_settings(texts: Mapping[str, str], *, distributed: bool = True) -> WorkerSettings:
    """SettingError names the setting that is wrong."""
    try:
        found = _WORKER.parse(texts)
        client = ClientSettings.from_properties(texts, bootstrap_servers=found["bootstrap.servers"],
                                                client_id="penstock-connect")  # fmt: skip
    except ConfigError as error:
        raise invalid(error.name, texts.get(error.name), str(error), "see docs/connect.md") from None
    except ClientSettingsError as error:
        raise SettingError(str(error), setting="", value="", allowed="") from None
    _warn(texts)
    configs, offsets, status = (found[f"{each}.storage.topic"] for each in ("config", "offset", "status"))
    return WorkerSettings(
        given=dict(texts),
        client=client,
        group_id=found["group.id"],
        config_topic=configs,
        offset_topic=offsets,
        status_topic=status,
        replicas={
            configs: found["config.storage.replication.factor"],
            offsets: found["offset.storage.replication.factor"],
            status: found["status.storage.replication.factor"],
        },
        partitions={configs: 1, offsets: found["offset.storage.partitions"],
                    status: found["status.storage.partitions"]},
        defaults=Defaults(
            _class(found, "key.converter", CONVERTERS),
            _class(found, "value.converter", CONVERTERS),
            _class(found, "header.converter", HEADER_CONVERTERS),
            {name: value for name, value in texts.items() if ".converter" in name},
        ),
        plugin_path=found["plugin.path"],
        session_timeout_ms=found["session.timeout.ms"],
        listen=_listener(found["listeners"]),
        advertised=(found["rest.advertised.host.name"], found["rest.advertised.port"]),
        allowed_paths=found[ALLOWED_PATHS] or ("" if distributed else ANY_PATH),
        offset_file="" if distributed else found["offset.storage.file.filename"],
        spark_master=found["penstock.spark.master"],
        spark={name: value for name, value in texts.items() if name.startswith("spark.")},
        distributed=distributed,
    )  # fmt: skip


def _class(found: Mapping[str, Any], setting: str, known: tuple[str, ...]) -> str:
    name = full_name(found[setting], known)
    if name is None:
        raise invalid(setting, found[setting], "there is no such converter", ", ".join(known))
    return name


def _listener(text: str) -> tuple[str, int]:
    first = text.split(",")[0].strip()
    address = first.partition("://")[2] or first
    host, _, port = address.rpartition(":")
    if not first.startswith("http://") or not port.isdecimal():
        raise invalid("listeners", text, "a worker listens on one address", "http://HOST:PORT")
    return host.strip("[]"), int(port)


def _warn(texts: Mapping[str, str]) -> None:
    prefixes = ("spark.", "config.", "key.converter.", "value.converter.", "header.converter.", "consumer.",
                "producer.", "admin.", "security.", "sasl.", "ssl.", "offset.", "status.")  # fmt: skip
    for name in sorted(texts):
        if name not in _WORKER.names and not name.startswith(prefixes):
            _log.warning("the setting %s has no meaning for a worker here and is passed over", name)
