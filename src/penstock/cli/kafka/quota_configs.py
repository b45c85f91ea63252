"""Quotas of users, clients and addresses, for `kafka-configs`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from penstock.cli.kafka.asking import Asker, check
from penstock.cli.kafka.config_options import Entities
from penstock.cli.kafka.options import CommandFailed
from penstock.cli.kafka.scram_configs import MECHANISMS, alter_credentials, describe_credentials

EXACT, DEFAULT, ANY = 0, 1, 2
ENTITY: Final = {"users": "user", "clients": "client-id", "ips": "ip"}
SHOWN: Final = {"user": "user-principal", "client-id": "client-id", "ip": "ip"}
CLIENT_QUOTAS: Final = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
)
IP_QUOTAS: Final = ("connection_creation_rate",)


def describe_quotas(asker: Asker, entities: Entities) -> None:
    for entity, values in found_quotas(asker, entities):
        named = ", ".join(
            f"the default {SHOWN[kind]}" if entity[kind] is None else f"{SHOWN[kind]} '{entity[kind]}'"
            for kind in SHOWN
            if kind in entity
        )
        print(f"Quota configs for {named} are {', '.join(f'{key}={value}' for key, value in values.items())}")
    if entities.kinds == ["users"] and "" not in entities.names:
        describe_credentials(asker, entities.names)


def alter_quotas(asker: Asker, entities: Entities, added: Mapping[str, str], deleted: Sequence[str]) -> None:
    from penstock.protocol.apis import Api

    _check_names(entities, added, deleted)
    if any(key in MECHANISMS for key in (*added, *deleted)):
        alter_credentials(asker, entities.names[0], added, deleted)
        return
    old = next((values for _, values in found_quotas(asker, entities)), {})
    unknown = [key for key in deleted if key not in old]
    if unknown:
        raise CommandFailed(f"Invalid config(s): {','.join(unknown)}")
    ops = [{"key": key, "value": _number(key, value), "remove": False} for key, value in added.items()]
    ops += [{"key": key, "value": 0.0, "remove": True} for key in deleted]
    entity = [
        {"entity_type": ENTITY[kind], "entity_name": name or None}
        for kind, name in zip(entities.kinds, entities.names, strict=True)
    ]
    fields = {"entries": [{"entity": entity, "ops": ops}], "validate_only": False}
    for entry in asker.any(Api.ALTER_CLIENT_QUOTAS, fields, (0, 1)).entries:
        check(entry)


def _check_names(entities: Entities, added: Mapping[str, str], deleted: Sequence[str]) -> None:
    kind = entities.kinds[0]
    if kind == "ips":
        wrong = [key for key in (*added, *deleted) if key not in IP_QUOTAS]
        if wrong:
            raise CommandFailed(
                f"Only connection quota configs can be added for '{kind}' using --bootstrap-server. "
                f"Unexpected config names: {','.join(wrong)}"
            )
        return
    alone = entities.kinds == ["users"]
    what = "quota and SCRAM credential" if alone else "quota"
    known = (*CLIENT_QUOTAS, *MECHANISMS) if alone else CLIENT_QUOTAS
    for keys, verb, form in (
        (list(added), "added", "Set({})"),
        (list(deleted), "deleted", "ArrayBuffer({})"),
    ):
        wrong = [key for key in keys if key not in known]
        if wrong:
            raise CommandFailed(
                f"Only {what} configs can be {verb} for '{'users' if alone else 'clients'}' using "
                f"--bootstrap-server. Unexpected config names: {form.format(', '.join(wrong))}"
            )
    if any(key in MECHANISMS for key in (*added, *deleted)):
        if "" in entities.names:
            raise CommandFailed(
                "The use of --entity-default or --user-defaults is not allowed with User SCRAM Credentials "
                "using --bootstrap-server."
            )
        if any(key in CLIENT_QUOTAS for key in (*added, *deleted)):
            raise CommandFailed(
                "Cannot alter both quota and SCRAM credential configs simultaneously for 'users' using "
                "--bootstrap-server."
            )


def _number(key: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise CommandFailed(f"Cannot parse quota configuration value for {key}: {value}") from None


def found_quotas(asker: Asker, entities: Entities) -> list[tuple[dict[str, Any], dict[str, float]]]:
    """Entities that have quotas, among those that were asked for."""
    from penstock.protocol.apis import Api

    if len(entities.names) > len(entities.kinds):
        raise CommandFailed("More entity names specified than entity types")
    components = []
    for index, kind in enumerate(entities.kinds):
        name = entities.names[index] if index < len(entities.names) else None
        match = ANY if name is None else EXACT if name else DEFAULT
        components.append({"entity_type": ENTITY[kind], "match_type": match, "match": name or None})
    answer = asker.any(Api.DESCRIBE_CLIENT_QUOTAS, {"components": components, "strict": True}, (0, 1))
    check(answer)
    return [
        (
            {part.entity_type: part.entity_name for part in entry.entity},
            {value.key: value.value for value in entry.values},
        )
        for entry in answer.entries or ()
    ]
