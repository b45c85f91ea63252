"""`kafka-configs`: describe and alter settings of topics, brokers and groups, and quotas of clients."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from penstock.cli.kafka.asking import Asker, NoAnswer, Refused, check
from penstock.cli.kafka.config_entries import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    DELETE,
    GROUP,
    SET,
    TOPIC,
    Entry,
    alter_configs,
    described_configs,
)
from penstock.cli.kafka.config_options import Entities, checked, parser
from penstock.cli.kafka.options import CommandFailed, Given
from penstock.cli.kafka.properties import load_properties
from penstock.cli.kafka.quota_configs import alter_quotas, describe_quotas
from penstock.cli.kafka.starting import script

RESOURCES: Final = {
    "topics": (TOPIC, "DYNAMIC_TOPIC_CONFIG"),
    "brokers": (BROKER, "DYNAMIC_BROKER_CONFIG"),
    "broker-loggers": (BROKER_LOGGER, None),
    "client-metrics": (CLIENT_METRICS, "DYNAMIC_CLIENT_METRICS_CONFIG"),
    "groups": (GROUP, "DYNAMIC_GROUP_CONFIG"),
}
"""Kind of the resource, and the source of settings that were made for it."""
_COMMA: Final = re.compile(r",(?=[^\]]*(?:\[|$))")
_EQUALS: Final = re.compile(r"\s*=\s*(?=[^\]]*(?:\[|$))")


def configs(words: Sequence[str]) -> int:
    given = parser().parse(words)
    entities = checked(given)
    try:
        asker = Asker(given.value("bootstrap-server"), load_properties(given.value("command-config")))
        if given.has("alter"):
            _alter(asker, given, entities)
        else:
            _describe(asker, given, entities)
    except (Refused, NoAnswer) as error:
        print(f"Error while executing config command with args '{' '.join(words)}'", file=sys.stderr)
        print(error, file=sys.stderr)
        return 1
    return 0


def _describe(asker: Asker, given: Given, entities: Entities) -> None:
    kind = entities.kinds[0]
    if kind not in RESOURCES:
        describe_quotas(asker, entities)
        return
    missing = kind == "topics" and entities.names and entities.names[0] not in asker.topics(entities.names)
    if missing and not given.has("all"):
        print(f"The topic '{entities.names[0]}' doesn't exist and doesn't have dynamic config.")
        return
    whole = given.has("all")
    for name in entities.names or _all_names(asker, kind):
        if name:
            print(f"{'All' if whole else 'Dynamic'} configs for {kind[:-1]} {name} are:")
        else:
            print(f"Default configs for {kind} in the cluster are:")
        for entry in _entries(asker, kind, name, whole=whole):
            synonyms = ", ".join(f"{source}:{key}={_text(value)}" for source, key, value in entry.synonyms)
            sensitive = "true" if entry.sensitive else "false"
            print(f"  {entry.name}={_text(entry.value)} sensitive={sensitive} synonyms={{{synonyms}}}")


def _all_names(asker: Asker, kind: str) -> list[str]:
    if kind == "topics":
        return asker.topic_names()
    if kind in ("brokers", "broker-loggers"):
        return [*map(str, asker.brokers()), ""]
    from penstock.protocol.apis import Api

    answer = asker.any(Api.LIST_CONFIG_RESOURCES, {"resource_types": [RESOURCES[kind][0]]}, (1, 1))
    check(answer)
    return sorted(resource.resource_name for resource in answer.config_resources)


def _entries(asker: Asker, kind: str, name: str, *, whole: bool) -> list[Entry]:
    number, source = RESOURCES[kind]
    if kind == "brokers" and not name:
        source = "DYNAMIC_DEFAULT_BROKER_CONFIG"
    found = described_configs(asker, number, [name])[name]
    kept = [entry for entry in found if whole or source is None or entry.source == source]
    return sorted(kept, key=lambda entry: entry.name)


def _text(value: str | None) -> str:
    return "null" if value is None else value


def _alter(asker: Asker, given: Given, entities: Entities) -> None:
    if len(entities.kinds) != len(entities.names):
        raise CommandFailed("An entity name must be specified for every entity type")
    kind, name = entities.kinds[0], entities.names[0]
    added = _added(given)
    deleted = [
        word.strip() for text in given.values("delete-config") for word in text.split(",") if word.strip()
    ]
    if kind in RESOURCES:
        _alter_resource(asker, kind, name, added, deleted)
    else:
        alter_quotas(asker, entities, added, deleted)
    if name:
        print(f"Completed updating config for {kind[:-1]} {name}.")
    else:
        print(f"Completed updating default config for {kind} in the cluster.")


def _added(given: Given) -> dict[str, str]:
    """`k1=v1,k2=[v1,v2]`, and the properties of a file."""
    added = load_properties(given.value("add-config-file"))
    if given.has("add-config"):
        pairs = [_EQUALS.split(text) for text in _COMMA.split(given.value("add-config"))]
        if any(len(pair) != 2 for pair in pairs):
            raise CommandFailed(
                "requirement failed: Invalid entity config: all configs to be added must be in the format "
                '"key=val" or  "key=[val1,val2]" to group values which contain commas.'
            )
        added |= {key.strip(): re.sub(r"\[?\]?", "", value).strip() for key, value in pairs}
    for key in added:
        if not re.fullmatch(r"[a-zA-Z0-9._-]*", key):
            raise CommandFailed(f"Invalid character found for config key: {key}")
    return added


def _alter_resource(
    asker: Asker, kind: str, name: str, added: Mapping[str, str], deleted: Sequence[str]
) -> None:
    old = {entry.name for entry in _entries(asker, kind, name, whole=False)}
    unknown = [key for key in deleted if key not in old]
    if kind == "broker-loggers":
        unknown += [key for key in added if key not in old]
        if unknown:
            raise CommandFailed(f"Invalid broker logger(s): {','.join(unknown)}")
    if unknown:
        raise CommandFailed(f"Invalid config(s): {','.join(unknown)}")
    number = RESOURCES[kind][0]
    changes = [{"name": key, "config_operation": SET, "value": value} for key, value in added.items()]
    changes += [{"name": key, "config_operation": DELETE, "value": None} for key in deleted]
    alter_configs(asker, number, name, changes)


main = script(configs)
