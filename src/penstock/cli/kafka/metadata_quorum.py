"""`kafka-metadata-quorum`: the controllers, their leader, and how far behind each node is."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any, Final

from penstock.cli.kafka.arguments import ArgumentParser, add_connection, asker_of, print_table
from penstock.cli.kafka.asking import Asker, Refused, check, id_text
from penstock.cli.kafka.options import CommandFailed
from penstock.cli.kafka.starting import script

HEADERS: Final = (
    "NodeId",
    "DirectoryId",
    "LogEndOffset",
    "Lag",
    "LastFetchTimestamp",
    "LastCaughtUpTimestamp",
    "Status",
)
METADATA_TOPIC: Final = "__cluster_metadata"
UNKNOWN: Final = -1


def metadata_quorum(words: Sequence[str]) -> int:
    given = _parser().parse_args(words)
    if given.command != "describe":
        raise CommandFailed(
            f"{given.command} is not supported: the voters of a Penstock cluster are those of "
            "controller.quorum.voters"
        )
    _check_form(given)
    asker = asker_of(given)
    try:
        quorum, nodes = _quorum(asker)
        if given.replication:
            print_table(HEADERS, _replication_rows(quorum, readable=given.human_readable))
        else:
            print(_status(_cluster_id(asker), quorum, nodes))
    except Refused as error:
        raise CommandFailed(f"{error.java_class}: {error}") from error
    return 0


def _check_form(given: argparse.Namespace) -> None:
    if given.status and given.replication:
        raise CommandFailed(
            "Only one of --status or --replication should be specified with describe sub-command"
        )
    if not (given.status or given.replication):
        raise CommandFailed("One of --status or --replication must be specified with describe sub-command")
    if given.status and given.human_readable:
        raise CommandFailed("The option --human-readable is only supported along with --replication")


def _quorum(asker: Asker) -> tuple[Any, dict[int, Any]]:
    """The partition of the metadata topic, and where each controller listens."""
    from penstock.protocol.apis import Api

    topics = [{"topic_name": METADATA_TOPIC, "partitions": [{"partition_index": 0}]}]
    answer = asker.any(Api.DESCRIBE_QUORUM, {"topics": topics}, (0, 2))
    check(answer)
    partition = answer.topics[0].partitions[0]
    check(partition)
    return partition, {node.node_id: node for node in getattr(answer, "nodes", ())}


def _cluster_id(asker: Asker) -> str:
    from penstock.protocol.apis import Api

    answer = asker.any(Api.DESCRIBE_CLUSTER, {"include_cluster_authorized_operations": False}, (0, 0))
    check(answer)
    return str(answer.cluster_id)


def _leader(quorum: Any) -> Any:
    return next(voter for voter in quorum.current_voters if voter.replica_id == quorum.leader_id)


def _replication_rows(quorum: Any, *, readable: bool) -> list[list[object]]:
    leader = _leader(quorum)
    followers = [voter for voter in quorum.current_voters if voter.replica_id != quorum.leader_id]
    return [
        _replica_row(leader, replica, status, readable=readable)
        for status, replicas in (
            ("Leader", [leader]),
            ("Follower", followers),
            ("Observer", quorum.observers),
        )
        for replica in replicas
    ]


def _replica_row(leader: Any, replica: Any, status: str, *, readable: bool) -> list[object]:
    return [
        replica.replica_id,
        _directory_id(replica),
        replica.log_end_offset,
        leader.log_end_offset - replica.log_end_offset,
        _moment(replica.last_fetch_timestamp, "last fetch", readable=readable),
        _moment(replica.last_caught_up_timestamp, "last caught up", readable=readable),
        status,
    ]


def _moment(timestamp_ms: int, what: str, *, readable: bool) -> object:
    if timestamp_ms == UNKNOWN or not readable:
        return timestamp_ms
    now_ms = time.time_ns() // 1_000_000
    if not 0 < timestamp_ms <= now_ms:
        raise CommandFailed(
            "Error while computing relative time, possible drift in system clock.\n"
            f"Current timestamp is {now_ms}, {what} timestamp is {timestamp_ms}"
        )
    return f"{now_ms - timestamp_ms} ms ago"


def _directory_id(replica: Any) -> str:
    found = getattr(replica, "replica_directory_id", None)
    return id_text(found.bytes if found is not None else bytes(16))


def _status(cluster_id: str, quorum: Any, nodes: dict[int, Any]) -> str:
    leader = _leader(quorum)
    slowest = min(quorum.current_voters, key=lambda voter: voter.log_end_offset)
    lines = {
        "ClusterId": cluster_id,
        "LeaderId": quorum.leader_id,
        "LeaderEpoch": quorum.leader_epoch,
        "HighWatermark": quorum.high_watermark,
        "MaxFollowerLag": leader.log_end_offset - slowest.log_end_offset,
        "MaxFollowerLagTimeMs": _lag_ms(leader, slowest),
        "CurrentVoters": _shown(quorum.current_voters, nodes),
        "CurrentObservers": _shown(quorum.observers, nodes),
    }
    return "\n".join(f"{name + ':':<24}{value}" for name, value in lines.items())


def _lag_ms(leader: Any, slowest: Any) -> int:
    if leader is slowest:
        return 0
    moments = (leader.last_caught_up_timestamp, slowest.last_caught_up_timestamp)
    return UNKNOWN if UNKNOWN in moments else moments[0] - moments[1]


def _shown(replicas: Sequence[Any], nodes: dict[int, Any]) -> str:
    return f"[{', '.join(_shown_one(replica, nodes) for replica in replicas)}]"


def _shown_one(replica: Any, nodes: dict[int, Any]) -> str:
    directory = getattr(replica, "replica_directory_id", None)
    shown = "" if directory is None else f', "directoryId": "{id_text(directory.bytes)}"'
    node = nodes.get(replica.replica_id)
    listeners = node.listeners if node else ()
    endpoints = ", ".join(f'"{one.name}://{_host(one.host)}:{one.port}"' for one in listeners)
    tail = f', "endpoints": [{endpoints}]' if endpoints else ""
    return f'{{"id": {replica.replica_id}{shown}{tail}}}'


def _host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="kafka-metadata-quorum", description="This tool describes kraft metadata quorum status."
    )
    add_connection(parser)
    commands = parser.add_subparsers(dest="command", required=True)
    describe = commands.add_parser("describe", help="Describe the metadata quorum info")
    describe.add_argument("--status", action="store_true", help="A short summary of the quorum.")
    describe.add_argument("--replication", action="store_true", help="How far each replica is.")
    describe.add_argument("--human-readable", action="store_true", help="Human-readable output")
    add = commands.add_parser("add-controller", help="Add a controller to the KRaft controller cluster")
    add.add_argument("--dry-run", action="store_true", help="Print what would be done, but do not do it.")
    remove = commands.add_parser("remove-controller", help="Remove a controller from the cluster")
    remove.add_argument("--controller-id", "-i", type=int, required=True, help="The id of the controller.")
    remove.add_argument("--controller-directory-id", "-d", required=True, help="Its directory ID.")
    remove.add_argument("--dry-run", action="store_true", help="Print what would be done, but do not do it.")
    return parser


main = script(metadata_quorum)
