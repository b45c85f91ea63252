"""The words of `penstock acl`: principals, operations and resources, and the entries that they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import click

from penstock.cli.options import Command
from penstock.client.acls import ANY, Acl
from penstock.security.operations import CLUSTER_NAME, OPERATIONS, Operation, ResourceType
from penstock.security.principals import Principal

RESOURCES: Final = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional_id": ResourceType.TRANSACTIONAL_ID,
    "token": ResourceType.DELEGATION_TOKEN,
    "user": ResourceType.USER,
    "cluster": ResourceType.CLUSTER,
}
_PRODUCER: Final = {
    ResourceType.TOPIC: ("WRITE", "DESCRIBE", "CREATE"),
    ResourceType.TRANSACTIONAL_ID: ("WRITE", "DESCRIBE"),
}
_CONSUMER: Final = {ResourceType.TOPIC: ("READ", "DESCRIBE"), ResourceType.GROUP: ("READ",)}


class Resource(NamedTuple):
    kind: ResourceType
    name: str


def resource_options(command: Command) -> Command:
    for option in (
        click.option("--prefix", is_flag=True, help="The names are beginnings of names."),
        click.option("--cluster", is_flag=True, help="The cluster itself."),
        click.option("--user", metavar="PRINCIPAL", help="A user whose tokens are meant."),
        click.option("--token", metavar="ID", help="A delegation token."),
        click.option("--transactional-id", metavar="NAME", help="A transactional id, or '*'."),
        click.option("--group", metavar="NAME", help="A consumer group, or '*'."),
        click.option("--topic", metavar="NAME", help="A topic, or '*'."),
    ):
        command = option(command)
    return command


def resources(names: Mapping[str, Any]) -> list[Resource]:
    """What the options name."""
    found = []
    for option, kind in RESOURCES.items():
        value = names[option]
        if value:
            found.append(Resource(kind, CLUSTER_NAME if kind == ResourceType.CLUSTER else str(value)))
    return found


def find_resource(names: Mapping[str, Any]) -> Resource | None:
    found = resources(names)
    if len(found) > 1:
        raise click.UsageError("Name one resource.")
    return found[0] if found else None


def principal_named(text: str) -> Principal:
    """`alice` is `User:alice`."""
    kind, colon, name = text.partition(":")
    return Principal(kind, name) if colon else Principal("User", text)


def operation_named(text: str, kind: ResourceType) -> Operation:
    """In any case, with `-`, `_` or nothing between the words."""
    wanted = text.upper().replace("-", "").replace("_", "")
    allowed = (*OPERATIONS[kind], Operation.ALL)
    for each in allowed:
        if each.name.replace("_", "") == wanted:
            return each
    names = ", ".join(each.name.lower().replace("_", "-") for each in allowed)
    raise click.UsageError(f"{text!r} is no operation of a {kind.name.lower()}. Use one of {names}.")


def entries_of(
    principal: str,
    operations: Sequence[str],
    producer: bool,
    consumer: bool,
    deny: bool,
    host: str,
    prefix: bool,
    all_when_none: bool = False,
    **names: Any,
) -> list[Acl]:
    """The entries that the words of `grant` describe; with `all_when_none` and no operation, filters."""
    found = resources(names)
    if not found:
        raise click.UsageError("Name a resource: --topic, --group, --cluster, --transactional-id or --user.")
    if not operations and not producer and not consumer and not all_when_none:
        raise click.UsageError("Say what is granted: operations such as read, or --producer or --consumer.")
    who = str(principal_named(principal))
    entries = []
    for resource in found:
        wanted = [operation_named(text, resource.kind).name for text in operations]
        wanted += _PRODUCER.get(resource.kind, ()) if producer else ()
        wanted += _CONSUMER.get(resource.kind, ()) if consumer else ()
        if not wanted and all_when_none and not producer and not consumer:
            wanted = [ANY]
        if not wanted:
            raise click.UsageError(f"Nothing would be granted on the {resource.kind.name.lower()}.")
        is_prefix = prefix and resource.kind != ResourceType.CLUSTER
        permission = ANY if wanted == [ANY] and not deny else "DENY" if deny else "ALLOW"
        entries += [
            Acl(
                resource.kind.name,
                resource.name,
                "PREFIXED" if is_prefix else "LITERAL",
                who,
                None if wanted == [ANY] and host == "*" else host,
                operation,
                permission,
            )
            for operation in dict.fromkeys(wanted)
        ]
    return entries
