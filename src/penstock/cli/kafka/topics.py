"""`kafka-topics`: create, list, describe, alter and delete topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from penstock.cli.kafka.asking import Asker, Refused, check
from penstock.cli.kafka.options import CommandFailed, Given
from penstock.cli.kafka.properties import load_properties
from penstock.cli.kafka.starting import script
from penstock.cli.kafka.topic_description import describe
from penstock.cli.kafka.topic_names import chosen, may_collide
from penstock.cli.kafka.topic_options import ACTIONS, checked, parser

DEFAULT: Final = -1
LARGEST_SHORT: Final = 32_767
COLLISION: Final = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could "
    "collide. To avoid issues it is best to use either, but not both."
)


def topics(words: Sequence[str]) -> int:
    given = checked(parser().parse(words))
    asker = Asker(given.value("bootstrap-server"), load_properties(given.value("command-config")))
    try:
        _BODIES[next(action for action in ACTIONS if given.has(action))](asker, given)
    except CommandFailed as error:
        print(f"Error while executing topic command : {error}")
        return 1
    return 0


def _create(asker: Asker, given: Given) -> None:
    from penstock.protocol.apis import Api

    name = given.value("topic")
    topic = _new_topic(given)
    if may_collide(name):
        print(COLLISION)
    factor, partitions = given.value("replication-factor"), given.value("partitions")
    if factor is not None and not 1 <= factor <= LARGEST_SHORT:
        raise CommandFailed(f"The replication factor must be between 1 and {LARGEST_SHORT} inclusive")
    if partitions is not None and partitions < 1:
        raise CommandFailed("The partitions must be greater than 0")
    answer = asker.any(Api.CREATE_TOPICS, {"topics": [topic], "validate_only": False}, (2, 7))
    try:
        check(answer.topics[0])
    except Refused as error:
        if error.name == "TOPIC_ALREADY_EXISTS" and given.has("if-not-exists"):
            return
        raise
    print(f"Created topic {name}.")


def _new_topic(given: Given) -> dict[str, Any]:
    placed = _assignment(given)
    return {
        "name": given.value("topic"),
        "num_partitions": DEFAULT if placed else given.value("partitions") or DEFAULT,
        "replication_factor": DEFAULT if placed else given.value("replication-factor") or DEFAULT,
        "assignments": [
            {"partition_index": index, "broker_ids": brokers} for index, brokers in enumerate(placed)
        ],
        "configs": [{"name": name, "value": value} for name, value in _configs(given).items()],
    }


def _configs(given: Given) -> dict[str, str]:
    pairs = [pair.split("=") for pair in given.values("config")]
    if any(len(pair) != 2 for pair in pairs):
        raise CommandFailed(
            "requirement failed: Invalid topic config: all configs to be added must be in the format "
            '"key=val".'
        )
    return {name.strip(): value.strip() for name, value in pairs}


def _assignment(given: Given) -> list[list[int]]:
    """`--replica-assignment 1:2,2:3`: the brokers of each partition."""
    text = given.value("replica-assignment")
    if not text:
        return []
    placed: list[list[int]] = []
    for index, part in enumerate(text.split(",")):
        words = [word.strip() for word in part.split(":")]
        bad = next((word for word in words if not word.lstrip("-").isdecimal()), None)
        if bad is not None:
            raise CommandFailed(f'For input string: "{bad}"')
        brokers = [int(word) for word in words]
        twice = sorted({broker for broker in brokers if brokers.count(broker) > 1})
        if twice:
            named = ",".join(map(str, twice))
            raise CommandFailed(f"Partition replica lists may not contain duplicate entries: {named}")
        placed.append(brokers)
        if len(brokers) != len(placed[0]):
            raise CommandFailed(f"Partition {index} has different replication factor: {brokers}")
    return placed


def _list(asker: Asker, given: Given) -> None:
    print("\n".join(_names(asker, given)))


def _alter(asker: Asker, given: Given) -> None:
    from penstock.protocol.apis import Api

    placed = _assignment(given)
    found = _existing(asker, given)
    if not found:
        return
    infos = asker.cluster.topics(found, asker.deadline)
    changes = []
    for name in found:
        new = placed[len(infos[name].partitions) :]
        changes.append(
            {
                "name": name,
                "count": given.value("partitions"),
                "assignments": [{"broker_ids": brokers} for brokers in new] if placed else None,
            }
        )
    fields = {"topics": changes, "timeout": 60_000, "validate_only": False}
    for result in asker.any(Api.CREATE_PARTITIONS, fields, (0, 3)).results:
        check(result)


def _describe(asker: Asker, given: Given) -> None:
    describe(asker, given, _existing(asker, given))


def _delete(asker: Asker, given: Given) -> None:
    from penstock.protocol.apis import Api

    found = _existing(asker, given)
    if not found:
        return
    fields = {
        "topics": [{"name": name, "topic_id": None} for name in found],
        "topic_names": found,
        "timeout": 60_000,
    }
    for result in asker.any(Api.DELETE_TOPICS, fields, (1, 6)).responses:
        check(result)


def _names(asker: Asker, given: Given) -> list[str]:
    return chosen(asker.topic_names(), given.value("topic"), exclude_internal=given.has("exclude-internal"))


def _existing(asker: Asker, given: Given) -> list[str]:
    """The topics that were named; an error when there are none, unless --if-exists."""
    wanted_id = given.value("topic-id") if given.has("describe") else None
    if wanted_id is not None:
        found = [name for name, topic_id in asker.topic_ids().items() if topic_id == wanted_id]
        if not found and not given.has("if-exists"):
            raise CommandFailed(f"TopicId '{wanted_id}' does not exist as expected")
        return found
    found = _names(asker, given)
    wanted = given.value("topic")
    if wanted and not found and not given.has("if-exists"):
        raise CommandFailed(f"Topic '{wanted}' does not exist as expected")
    return found


_BODIES: Final = {
    "create": _create,
    "alter": _alter,
    "list": _list,
    "describe": _describe,
    "delete": _delete,
}

main = script(topics)
