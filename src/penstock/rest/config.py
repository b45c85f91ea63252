"""Settings of the REST Proxy under Confluent's names, and its bounds, all in one place.

`client.…` goes to every Kafka client of the proxy, `admin.…`, `producer.…` and `consumer.…` to one kind of
it, with librdkafka's names behind the dot. Pure; `penstock rest` reads files and options.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from penstock.client.registry_access import take_registry_access
from penstock.security.client_settings import Tls
from penstock.settings.errors import SettingError, invalid

BODY_BYTES_MAX: Final = 10 * 1024 * 1024
"""One request body. A streamed one has no bound of its own; each of its records has RECORD_BYTES_MAX."""
RECORD_BYTES_MAX: Final = 2 * 1024 * 1024
"""The JSON of one record of a stream."""
STREAM_PENDING_MAX: Final = 1_000
"""Records of one stream that are sent to the broker and not answered yet."""
STREAM_IDLE_S: Final = 300.0
"""A stream in which nothing arrives, or whose client does not read, ends after this."""
PRODUCER_QUEUE_KBYTES: Final = 32 * 1024
"""Records of all requests together that wait for the broker."""
CONSUMER_QUEUE_KBYTES: Final = 2 * 1024
"""Records that one instance has fetched ahead."""
RECORDS_MAX: Final = 5_000
"""Records in one answer, however small they are."""
PARTITIONS_MAX: Final = 10_000
"""Partitions or topics that one request may name."""
REQUEST_TIMEOUT_MS_MAX: Final = 300_000
"""The longest that reading may wait for records, whatever the client asks for."""
FETCH_MIN_BYTES_MAX: Final = 10_000_000
NO_ZERO_BYTES: Final = r"^[^\x00]*$"
"""librdkafka's strings end at a zero byte: a name with one in it would mean another name."""
SCHEMAS_CACHED: Final = 1_000
CALLERS_MAX: Final = 200
"""Callers for whom the proxy keeps clients; the one that was served longest ago makes room."""
CALLER_IDLE_S: Final = 300.0
"""After this long without a request the clients of a caller are closed."""


@dataclass(frozen=True, slots=True)
class RestSettings:
    """Every field but the last six is a setting; `NAMES` says under which name."""

    schema_registry_url: str = ""
    id: str = ""
    """Part of the names of consumer instances, so that those of several proxies can be told apart."""
    request_timeout_ms: int = 10_000
    """How long the broker may take to answer or to acknowledge."""
    consumer_request_timeout_ms: int = 1_000
    consumer_request_max_bytes: int = 4 * 1024 * 1024
    consumer_instance_timeout_ms: int = 300_000
    consumer_instances_max: int = 100
    consumer_threads: int = 50
    fetch_min_bytes: int = -1
    """Bytes of records worth answering before the time is up; -1 waits for the time."""
    produce_batch_maximum_entries: int = 10
    advertised_url: str = ""
    """What links in answers begin with; without it, what the client called the proxy."""
    registry_authorization: str = field(default="", repr=False)
    """The header with which the proxy itself comes to the registry; callers come with their own."""
    registry_tls: Tls | None = None
    client: Mapping[str, str] = field(default_factory=dict, repr=False)
    admin: Mapping[str, str] = field(default_factory=dict, repr=False)
    producer: Mapping[str, str] = field(default_factory=dict, repr=False)
    consumer: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def request_timeout_s(self) -> float:
        return self.request_timeout_ms / 1000

    @classmethod
    def from_texts(cls, texts: Mapping[str, str]) -> RestSettings:
        """SettingError for a name that is not known or a value that cannot be."""
        access, texts = take_registry_access(texts, "schema.registry.")
        own: dict[str, Any] = {"registry_authorization": access.authorization, "registry_tls": access.tls}
        prefixed: dict[str, Any] = {prefix: {} for prefix in PREFIXES}
        for name, text in texts.items():
            prefix, _, rest = name.partition(".")
            if name in NAMES:
                own[NAMES[name]] = _read(name, text)
            elif prefix in prefixed and rest:
                prefixed[prefix][rest] = text
            else:
                why = f"{name} is not a setting of the REST Proxy"
                raise SettingError(why, setting=name, value=text, allowed=_known())
        return cls(**own, **prefixed)


PREFIXES: Final = ("client", "admin", "producer", "consumer")
NAMES: Final = {
    "schema.registry.url": "schema_registry_url",
    "id": "id",
    "request.timeout.ms": "request_timeout_ms",
    "consumer.request.timeout.ms": "consumer_request_timeout_ms",
    "consumer.request.max.bytes": "consumer_request_max_bytes",
    "consumer.instance.timeout.ms": "consumer_instance_timeout_ms",
    "consumer.instances.max": "consumer_instances_max",
    "consumer.threads": "consumer_threads",
    "fetch.min.bytes": "fetch_min_bytes",
    "produce.batch.maximum.entries": "produce_batch_maximum_entries",
    "advertised.url": "advertised_url",
}
TEXTS: Final = {"schema.registry.url", "id", "advertised.url"}
RANGES: Final = {
    "request.timeout.ms": (100, REQUEST_TIMEOUT_MS_MAX),
    "consumer.request.timeout.ms": (0, REQUEST_TIMEOUT_MS_MAX),
    "consumer.request.max.bytes": (1, 64 * 1024 * 1024),
    "consumer.instance.timeout.ms": (1, 24 * 3600 * 1000),
    "consumer.instances.max": (1, 10_000),
    "consumer.threads": (1, 1_000),
    "fetch.min.bytes": (-1, FETCH_MIN_BYTES_MAX),
    "produce.batch.maximum.entries": (1, 10_000),
}


def _read(name: str, text: str) -> str | int:
    if name in TEXTS:
        return text.strip()
    low, high = RANGES[name]
    allowed = f"a whole number from {low} to {high}"
    try:
        value = int(text)
    except ValueError:
        raise invalid(name, text, "Not a number", allowed) from None
    if not low <= value <= high:
        raise invalid(name, text, "Out of range", allowed)
    return value


def _known() -> str:
    return ", ".join([*NAMES, *(f"{prefix}.…" for prefix in PREFIXES)])
