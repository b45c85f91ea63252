"""The JSON documents of `kafka-reassign-partitions`: where the replicas of partitions are, or are to be."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from penstock.cli.kafka.options import CommandFailed

ANYWHERE: Final = "any"
VERSION: Final = 1

Place = tuple[str, int]
"""Topic and partition."""


class Wanted(NamedTuple):
    """One partition of a reassignment, and the directories that were named for its replicas."""

    place: Place
    replicas: list[int]
    directories: list[str]


def name_of(place: Place) -> str:
    return f"{place[0]}-{place[1]}"


def read_assignment(path: str) -> list[Wanted]:
    """The partitions of a `--reassignment-json-file`, in its order."""
    document = _document(path)
    return [_wanted(row) for row in document.get("partitions", [])]


def read_topics(path: str) -> list[str]:
    """The topics of a `--topics-to-move-json-file`."""
    topics = [str(row["topic"]) for row in _document(path).get("topics", [])]
    twice = _twice(topics)
    if twice:
        raise CommandFailed(f"List of topics to reassign contains duplicate entries: [{', '.join(twice)}]")
    return topics


def check_for_execution(wanted: list[Wanted]) -> None:
    """Kafka's complaints about an assignment that nobody can mean."""
    if not wanted:
        raise CommandFailed("Partition reassignment list cannot be empty")
    if not all(one.replicas for one in wanted):
        raise CommandFailed("Partition replica list cannot be empty")
    twice = _twice(name_of(one.place) for one in wanted)
    if twice:
        raise CommandFailed(f"Partition reassignment contains duplicate topic partitions: {','.join(twice)}")
    repeated = [(one, _twice(map(str, one.replicas))) for one in wanted]
    told = [
        f"{name_of(one.place)} contains multiple entries for {','.join(ids)}" for one, ids in repeated if ids
    ]
    if told:
        raise CommandFailed(f"Partition replica lists may not contain duplicate entries: {'. '.join(told)}")


Directories = Mapping[tuple[int, str, int], str]
"""Where a broker has its replica of a partition: by broker, topic and partition."""


def written(assignment: Mapping[Place, list[int]], directories: Directories | None = None) -> str:
    """An assignment as a document that `--execute` takes."""
    known = directories or {}
    partitions = [
        {
            "topic": topic,
            "partition": partition,
            "replicas": replicas,
            "log_dirs": [known.get((broker, topic, partition), ANYWHERE) for broker in replicas],
        }
        for (topic, partition), replicas in sorted(assignment.items())
    ]
    return json.dumps({"version": VERSION, "partitions": partitions}, separators=(",", ":"))


def _document(path: str) -> dict[str, Any]:
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError:
        raise CommandFailed(f"Unable to read file {path}") from None
    except ValueError as error:
        raise CommandFailed(f"{path} is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise CommandFailed(f"Expected JSON object, received {json.dumps(document)}")
    version = document.get("version", VERSION)
    if version != VERSION:
        raise CommandFailed(f"Not supported version field value {version}")
    return document


def _wanted(row: Any) -> Wanted:
    if not isinstance(row, dict):
        raise CommandFailed(f"Expected JSON object, received {json.dumps(row)}")
    for field, kind in (("topic", str), ("partition", int), ("replicas", list)):
        if field not in row:
            raise CommandFailed(f"No such field exists: `{field}`")
        if not isinstance(row[field], kind):
            raise CommandFailed(f"Expected `{kind.__name__}` value, received {json.dumps(row[field])}")
    place = (row["topic"], row["partition"])
    replicas = row["replicas"]
    directories = row.get("log_dirs", [ANYWHERE] * len(replicas))
    if len(directories) != len(replicas):
        raise CommandFailed(
            f"Size of replicas list {_shown(replicas)} is different from size of log dirs list "
            f"{_shown(directories)} for partition {name_of(place)}"
        )
    return Wanted(place, replicas, directories)


def _shown(values: Iterable[object]) -> str:
    return f"[{', '.join(map(str, values))}]"


def _twice(names: Iterable[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]
