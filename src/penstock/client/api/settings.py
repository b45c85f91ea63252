"""Java's settings with Java's defaults and meaning, turned into librdkafka's.

A setting is in one of four tables: librdkafka has it (perhaps under another name), this client does it itself
(`OWN`), it has nothing to do here and is accepted (`WITHOUT_EFFECT`), or it cannot be honoured and is refused
with the reason (`REFUSED`). A name with the prefix `librdkafka.` goes to the library as it is.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from penstock.client.api import values
from penstock.client.api.exceptions import ConfigException
from penstock.client.errors import InvalidValue
from penstock.client.secured import JAVA_NAMES, SHARED_NAMES, is_java, library_settings
from penstock.security.client_settings import ClientSettings, ClientSettingsError

LIBRDKAFKA: Final = "librdkafka."


class Rule(NamedTuple):
    """How a setting reaches librdkafka. Without a default the library's own stands."""

    kind: Callable[[str, Any], Any]
    default: Any = None
    name: str | None = None  # librdkafka's, where it differs


class Settings(NamedTuple):
    library: dict[str, Any]  # for librdkafka
    own: dict[str, Any]  # for this client: Java's names, typed
    given: dict[str, Any]  # all that the user gave, for plug-ins


COMMON: Final[dict[str, Rule]] = {
    "bootstrap.servers": Rule(values.addresses),
    "client.id": Rule(values.text, ""),
    "client.rack": Rule(values.text),
    "client.dns.lookup": Rule(values.text, "use_all_dns_ips"),
    "metadata.max.age.ms": Rule(values.whole, 300_000, "topic.metadata.refresh.interval.ms"),
    "reconnect.backoff.ms": Rule(values.whole, 50),
    "reconnect.backoff.max.ms": Rule(values.whole, 1000),
    "retry.backoff.ms": Rule(values.whole, 100),
    "retry.backoff.max.ms": Rule(values.whole, 1000),
    "request.timeout.ms": Rule(values.whole, 30_000, "socket.timeout.ms"),
    "connections.max.idle.ms": Rule(values.whole, 540_000),
    "socket.connection.setup.timeout.ms": Rule(values.whole, 10_000),
    "send.buffer.bytes": Rule(values.whole, None, "socket.send.buffer.bytes"),
    "receive.buffer.bytes": Rule(values.whole, None, "socket.receive.buffer.bytes"),
    "security.protocol": Rule(values.text),
    "sasl.mechanism": Rule(values.text),
    "sasl.kerberos.service.name": Rule(values.text),
    "ssl.endpoint.identification.algorithm": Rule(values.identification),
    "ssl.cipher.suites": Rule(values.text),
    "ssl.key.password": Rule(values.text),
}
PRODUCER: Final[dict[str, Rule]] = {
    **COMMON,
    "acks": Rule(values.acks, "all"),
    "batch.size": Rule(values.whole, 16_384),
    "linger.ms": Rule(values.whole, 5),
    "compression.type": Rule(values.text, "none"),
    "delivery.timeout.ms": Rule(values.whole, 120_000),
    "enable.idempotence": Rule(values.boolean),
    "max.in.flight.requests.per.connection": Rule(values.whole, 5),
    "max.request.size": Rule(values.whole, 1_048_576, "message.max.bytes"),
    "retries": Rule(values.whole, 2_147_483_647),
    "transactional.id": Rule(values.text),
    "transaction.timeout.ms": Rule(values.whole, 60_000),
}
CONSUMER: Final[dict[str, Rule]] = {
    **COMMON,
    "group.id": Rule(values.text),
    "group.instance.id": Rule(values.text),
    "group.protocol": Rule(values.text),
    "group.remote.assignor": Rule(values.text),
    "allow.auto.create.topics": Rule(values.boolean, True),
    "auto.offset.reset": Rule(values.offset_reset, "latest"),
    "check.crcs": Rule(values.boolean, True),
    "fetch.max.bytes": Rule(values.whole, 52_428_800),
    "fetch.max.wait.ms": Rule(values.whole, 500, "fetch.wait.max.ms"),
    "fetch.min.bytes": Rule(values.whole, 1),
    "heartbeat.interval.ms": Rule(values.whole, 3000),
    "isolation.level": Rule(values.isolation, "read_uncommitted"),
    "max.partition.fetch.bytes": Rule(values.whole, 1_048_576),
    "max.poll.interval.ms": Rule(values.whole, 300_000),
    "partition.assignment.strategy": Rule(values.assignors, ["range", "cooperative-sticky"]),
    "session.timeout.ms": Rule(values.whole, 45_000),
}
SHARE: Final[dict[str, Rule]] = {
    **COMMON,
    **{
        name: CONSUMER[name]
        for name in (
            *("group.id", "check.crcs", "fetch.max.bytes", "fetch.max.wait.ms", "fetch.min.bytes"),
            "max.partition.fetch.bytes",
        )
    },
    "max.poll.records": Rule(values.whole, 500),
    "share.acknowledgement.mode": Rule(values.text, "implicit"),
}
OWN: Final[dict[str, dict[str, Rule]]] = {
    "producer": {
        "buffer.memory": Rule(values.whole, 33_554_432),
        "max.block.ms": Rule(values.whole, 60_000),
        "partitioner.ignore.keys": Rule(values.boolean, False),
    },
    "consumer": {
        "auto.commit.interval.ms": Rule(values.whole, 5000),
        "default.api.timeout.ms": Rule(values.whole, 60_000),
        "enable.auto.commit": Rule(values.boolean),
        "exclude.internal.topics": Rule(values.boolean, True),
        "max.poll.records": Rule(values.whole, 500),
    },
    "share consumer": {},
    "admin": {
        "default.api.timeout.ms": Rule(values.whole, 60_000),
        "retries": Rule(values.whole, 2_147_483_647),
        "request.timeout.ms": Rule(values.whole, 30_000),
    },
}
SECURITY: Final = JAVA_NAMES | SHARED_NAMES
PLUGINS: Final = frozenset(
    {
        "key.serializer",
        "value.serializer",
        "key.deserializer",
        "value.deserializer",
        "partitioner.class",
        "interceptor.classes",
    }
)
SERDES: Final = frozenset(
    {
        "auto.register.schemas",
        "basic.auth.credentials.source",
        "basic.auth.user.info",
        "bearer.auth.credentials.source",
        "bearer.auth.token",
        "deserializer.encoding",
        "json.fail.invalid.schema",
        "key.deserializer.encoding",
        "key.serializer.encoding",
        "key.subject.name.strategy",
        "latest.compatibility.strict",
        "normalize.schemas",
        "schema.registry.basic.auth.user.info",
        "schema.registry.url",
        "serializer.encoding",
        "specific.avro.reader",
        "use.latest.version",
        "use.latest.with.metadata",
        "use.schema.id",
        "value.deserializer.encoding",
        "value.serializer.encoding",
        "value.subject.name.strategy",
    }
)
"""Settings of serializers, which read them themselves."""
RULES: Final = ("rule.executors", "rule.actions")
"""How settings of rules begin; serializers read them too."""
WITHOUT_EFFECT: Final = frozenset(
    {
        "auto.include.jmx.reporter",
        "enable.metrics.push",
        "metadata.max.idle.ms",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms",
        "security.providers",
        "socket.connection.setup.timeout.max.ms",
        "ssl.enabled.protocols",
        "ssl.keymanager.algorithm",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
    }
)
REFUSED: Final[dict[str, str]] = {
    "sasl.client.callback.handler.class": "librdkafka has no Java call-back handlers",
    "sasl.login.class": "librdkafka has no Java log-in classes",
    "ssl.engine.factory.class": "librdkafka uses OpenSSL",
    "transaction.two.phase.commit.enable": "librdkafka has no two-phase commit (KIP-939)",
    "bootstrap.controllers": "an Admin asks brokers, which pass on what is the controller's",
    "metadata.recovery.strategy": "librdkafka asks the bootstrap servers again by itself",
}


def wire_settings(given: Mapping[str, Any]) -> ClientSettings:
    """The same settings for our own connections, which carry Arrow batches."""
    try:
        return ClientSettings.from_properties(
            {name: str(value) for name, value in given.items() if isinstance(value, (str, int))}
        )
    except ClientSettingsError as error:
        raise ConfigException(str(error)) from error


def producer_settings(given: Mapping[str, Any]) -> Settings:
    settings = _settings("producer", PRODUCER, given)
    library, own = settings.library, settings.own
    memory_kb = max(own["buffer.memory"] // 1024, 1)
    library.update({"queue.buffering.max.kbytes": memory_kb, "queue.buffering.max.messages": 0})
    library["enable.idempotence"] = _idempotent(library)
    if "transactional.id" in library and "delivery.timeout.ms" not in given:
        # librdkafka wants a record to end before its transaction does; Java leaves it to the coordinator.
        library["delivery.timeout.ms"] = min(
            library["delivery.timeout.ms"], library["transaction.timeout.ms"]
        )
    return settings


def consumer_settings(given: Mapping[str, Any]) -> Settings:
    settings = _settings("consumer", CONSUMER, given)
    library, own = settings.library, settings.own
    has_group = bool(library.get("group.id"))
    if own.get("enable.auto.commit") and not has_group:
        raise ConfigException("enable.auto.commit=true needs a group.id. Give one, or set it to false.")
    own.setdefault("enable.auto.commit", has_group)
    own["has.group"] = has_group
    library.setdefault("group.id", "penstock-without-a-group")  # the library wants one; nothing is committed
    library.update({"enable.auto.commit": False, "enable.auto.offset.store": False})
    # The library's own second is a stall for a reader that empties its queue sooner; Java has none.
    library.setdefault("fetch.queue.backoff.ms", 20)
    library["enable.partition.eof"] = True  # positions are behind the markers of transactions then
    if "session.timeout.ms" not in given:  # librdkafka wants it to be no longer than the interval of polls
        library["session.timeout.ms"] = min(library["session.timeout.ms"], library["max.poll.interval.ms"])
    if str(library.get("group.protocol", "classic")).lower() == "consumer":
        for name in ("session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy"):
            if name in given:
                raise ConfigException(f"{name} cannot be set with group.protocol=consumer: the group has it.")
            library.pop(name, None)
    return settings


def share_settings(given: Mapping[str, Any]) -> Settings:
    """Those of a share consumer. The group has the others: kafka-configs sets them there."""
    for name in sorted((CONSUMER.keys() - SHARE.keys()) & given.keys()):
        raise ConfigException(
            f"{name} is no setting of a share consumer: the group has it, or no need of it."
        )
    return _settings("share consumer", SHARE, given)


def admin_settings(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Those of an administrator's client, and all as they were given."""
    rules = {name: rule for name, rule in COMMON.items() if name not in OWN["admin"]}
    settings = _settings("admin", rules, given)
    return settings.own, settings.given


def _settings(role: str, rules: Mapping[str, Rule], given: Mapping[str, Any]) -> Settings:
    own_rules = OWN[role]
    library: dict[str, Any] = {"log_level": 2, "topic.metadata.refresh.sparse": True}
    own: dict[str, Any] = {}
    for name, rule in {**rules, **own_rules}.items():
        value = given.get(name, rule.default)
        if value is not None:
            into = own if name in own_rules else library
            into[rule.name or name] = rule.kind(name, value)
    library.update(_security(given))
    for name, value in given.items():
        if name.startswith(LIBRDKAFKA):
            library[name.removeprefix(LIBRDKAFKA)] = value
        elif not name.startswith(RULES) and not any(
            name in known for known in (rules, own_rules, PLUGINS, SERDES, SECURITY)
        ):
            library.update(_otherwise(role, name))
    if "bootstrap.servers" not in library:
        raise ConfigException("bootstrap.servers is missing. Give at least one address as HOST:PORT.")
    own.update({name: given[name] for name in PLUGINS & given.keys()})
    return Settings(library, own, dict(given))


def _security(given: Mapping[str, Any]) -> dict[str, Any]:
    """Java's log-in text and stores, as librdkafka wants them."""
    named = {name: value for name, value in given.items() if name in SECURITY and value is not None}
    if not is_java(named):
        return {}
    try:
        return library_settings(named)
    except InvalidValue as error:
        raise ConfigException(str(error)) from error


def _otherwise(role: str, name: str) -> dict[str, Any]:
    """Nothing for a setting without effect; an error for any other."""
    if name in WITHOUT_EFFECT:
        return {}
    if name in REFUSED:
        raise ConfigException(f"{name} cannot be honoured: {REFUSED[name]}.")
    rules = {"producer": PRODUCER, "consumer": CONSUMER, "share consumer": SHARE}.get(role, COMMON)
    known = [*rules, *OWN[role], *PLUGINS]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise ConfigException(
        f"{name} is no setting of a {role}.{hint} A setting of librdkafka's own takes the prefix "
        f"{LIBRDKAFKA!r}."
    )


def _idempotent(library: Mapping[str, Any]) -> bool:
    """Java: on, unless a given setting does not go with it; asked for together they are an error."""
    fits = (
        library["acks"] in ("all", "-1")
        and library["retries"] > 0
        and library["max.in.flight.requests.per.connection"] <= 5
    )
    wanted = library.get("enable.idempotence")
    if "transactional.id" in library and wanted is False:
        raise ConfigException("transactional.id needs enable.idempotence=true.")
    if (wanted or "transactional.id" in library) and not fits:
        raise ConfigException(
            "enable.idempotence=true needs acks=all, retries above 0 and at most five "
            "max.in.flight.requests.per.connection."
        )
    return fits if wanted is None else bool(wanted)
