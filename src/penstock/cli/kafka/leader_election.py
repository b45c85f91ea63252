"""`kafka-leader-election`: elect preferred leaders, or leaders that lost records where there is no other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from penstock.cli.kafka.asking import Asker, Refused, check, refusal
from penstock.cli.kafka.options import CommandFailed, Given, OptionError, Parser
from penstock.cli.kafka.partition_files import load_json, partition_rows, repeated
from penstock.cli.kafka.properties import load_properties
from penstock.cli.kafka.starting import script

TYPES: Final = {"preferred": 0, "unclean": 1}
SCOPES: Final = ("topic", "all-topic-partitions", "path-to-json-file")


def leader_election(words: Sequence[str]) -> int:
    given = _checked(_parser().parse(words))
    kind = given.value("election-type").lower()
    if kind not in TYPES:
        raise OptionError(f"Value [{given.value('election-type')}] must be one of [preferred|unclean]")
    wanted = _wanted(given)
    config = given.value("command-config") or given.value("admin.config")
    asker = Asker(
        given.value("bootstrap-server"), {"default.api.timeout.ms": "30000"} | load_properties(config)
    )
    _print_results(kind.upper(), _elected(asker, TYPES[kind], wanted))
    return 0


def _elected(asker: Asker, kind: int, wanted: list[tuple[str, int]] | None) -> dict[str, Refused | None]:
    from penstock.protocol.apis import Api

    topics = None
    if wanted is not None:
        topics = [{"topic": topic, "partitions": [index]} for topic, index in wanted]
    fields = {"election_type": kind, "topic_partitions": topics, "timeout": 30_000}
    answer = asker.any(Api.ELECT_LEADERS, fields, (1, 2))
    check(answer)
    return {
        f"{topic.topic}-{one.partition_id}": refusal(one)
        for topic in answer.replica_election_results
        for one in topic.partition_result
    }


def _print_results(kind: str, results: dict[str, Refused | None]) -> None:
    elected = [name for name, error in results.items() if error is None]
    valid = [name for name, error in results.items() if error and error.name == "ELECTION_NOT_NEEDED"]
    failed = {name: error for name, error in results.items() if error and name not in valid}
    if elected:
        print(f"Successfully completed leader election ({kind}) for partitions {', '.join(elected)}")
    if valid:
        print(f"Valid replica already elected for partitions {', '.join(valid)}")
    for name, error in failed.items():
        print(f"Error completing leader election ({kind}) for partition: {name}: {error.java_class}: {error}")
    if failed:
        raise CommandFailed(f"{len(failed)} replica(s) could not be elected")


def _wanted(given: Given) -> list[tuple[str, int]] | None:
    """The partitions; None for all."""
    if given.has("topic"):
        return [(given.value("topic"), given.value("partition"))]
    if not given.has("path-to-json-file"):
        return None
    document: Any = load_json(given.value("path-to-json-file"), "Replica election data is empty")
    rows = partition_rows(document, 'Replica election data is missing "partitions" field')
    twice = repeated(rows)
    if twice:
        raise CommandFailed(f"Replica election data contains duplicate partitions: [{', '.join(twice)}]")
    return [(row["topic"], row["partition"]) for row in rows]


def _checked(given: Given) -> Given:
    missing = [name for name in ("bootstrap-server", "election-type") if not given.has(name)]
    if missing:
        raise CommandFailed(f"Missing required option(s): {', '.join(missing)}")
    if sum(given.has(name) for name in SCOPES) != 1:
        raise CommandFailed(f"One and only one of the following options is required: {', '.join(SCOPES)}")
    if given.has("topic") and not given.has("partition"):
        raise CommandFailed("Missing required option(s): partition")
    if not given.has("topic") and given.has("partition"):
        raise CommandFailed("Option partition is only allowed if topic is used")
    return given


def _parser() -> Parser:
    options = Parser(
        "This tool attempts to elect a new leader for a set of topic partitions. The type of elections "
        "supported are preferred replicas and unclean replicas."
    )
    options.takes(
        "bootstrap-server",
        what="host:port",
        text="A hostname and port for the broker to connect to, in the form host:port. Multiple comma "
        "separated URLs can be given. REQUIRED.",
    )
    options.takes("command-config", what="config file", text="Configuration of the admin client.")
    options.takes("admin.config", what="config file", text="(DEPRECATED) Use --command-config instead.")
    options.takes(
        "path-to-json-file",
        what="Path to JSON file",
        text="The JSON file with the list of partition for which leader elections should be performed: "
        '{"partitions": [{"topic": "foo", "partition": 1}]}',
    )
    options.takes("topic", what="topic name", text="Name of topic for which to perform an election.")
    options.takes(
        "partition",
        what="partition id",
        kind="Integer",
        text="Partition id for which to perform an election. REQUIRED if --topic is specified.",
    )
    options.flag("all-topic-partitions", text="Perform election on all of the eligible topic partitions.")
    options.takes(
        "election-type",
        what="election type",
        text='Type of election to attempt: "preferred" or "unclean". REQUIRED.',
    )
    return options


main = script(leader_election)
