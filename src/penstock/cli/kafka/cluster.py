"""`kafka-cluster`: the id of a cluster, its brokers, and a broker that is gone for good."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.cli.kafka.arguments import ArgumentParser
from penstock.cli.kafka.asking import Asker, Refused, check
from penstock.cli.kafka.options import CommandFailed
from penstock.cli.kafka.properties import load_properties
from penstock.cli.kafka.starting import script


def cluster(words: Sequence[str]) -> int:
    given = _parser().parse_args(words)
    if given.bootstrap_controller:
        raise CommandFailed(
            "--bootstrap-controller is not supported yet: give a broker with --bootstrap-server"
        )
    asker = Asker(given.bootstrap_server, load_properties(given.command_config or given.config))
    if given.command == "cluster-id":
        _print_cluster_id(asker)
    elif given.command == "unregister":
        _unregister(asker, given.id)
    else:
        _print_endpoints(asker, fenced=given.include_fenced_brokers)
    return 0


def _print_cluster_id(asker: Asker) -> None:
    from penstock.protocol.apis import Api

    answer = asker.any(Api.DESCRIBE_CLUSTER, {"include_cluster_authorized_operations": False}, (0, 0))
    check(answer)
    print(f"Cluster ID: {answer.cluster_id}")


def _unregister(asker: Asker, broker_id: int) -> None:
    from penstock.protocol.apis import Api

    try:
        check(asker.any(Api.UNREGISTER_BROKER, {"broker_id": broker_id}, (0, 0)))
    except Refused as error:
        raise CommandFailed(f"{error.java_class}: {error}") from error
    print(f"Broker {broker_id} is no longer registered.")


def _print_endpoints(asker: Asker, *, fenced: bool) -> None:
    from penstock.protocol.apis import Api

    fields = {
        "include_cluster_authorized_operations": False,
        "endpoint_type": 1,
        "include_fenced_brokers": fenced,
    }
    answer = asker.any(Api.DESCRIBE_CLUSTER, fields, (1, 2))
    check(answer)
    brokers = sorted(answer.brokers, key=lambda broker: broker.broker_id)
    host = max(9, *(len(broker.host) for broker in brokers))
    rack = max(10, *(len(broker.rack or "null") for broker in brokers))
    print(f"{'ID':<10} {'HOST':<{host}} {'PORT':<10} {'RACK':<{rack}} {'STATE':<10} {'ENDPOINT_TYPE':<15}")
    for broker in brokers:
        state = "fenced" if getattr(broker, "is_fenced", False) else "unfenced"
        print(
            f"{broker.broker_id:<10} {broker.host:<{host}} {broker.port:<10} {broker.rack or 'null':<{rack}} "
            f"{state:<10} {'broker':<15}"
        )


def _parser() -> ArgumentParser:
    parser = ArgumentParser(prog="kafka-cluster", description="The Kafka cluster tool.")
    commands = parser.add_subparsers(dest="command", required=True)
    helps = {
        "cluster-id": "Get information about the ID of a cluster.",
        "unregister": "Unregister a broker.",
        "list-endpoints": "List endpoints",
    }
    for name, text in helps.items():
        command = commands.add_parser(name, help=text)
        connection = command.add_mutually_exclusive_group(required=True)
        connection.add_argument("--bootstrap-server", "-b", help="Addresses of brokers.")
        connection.add_argument("--bootstrap-controller", "-C", help="Addresses of controllers.")
        command.add_argument("--config", "-c", help="(DEPRECATED) Use --command-config instead.")
        command.add_argument("--command-config", help="A property file for the Admin client.")
        if name == "unregister":
            command.add_argument("--id", "-i", type=int, required=True, help="The ID of the broker.")
        if name == "list-endpoints":
            command.add_argument("--include-fenced-brokers", action="store_true", help="List those, too.")
    return parser


main = script(cluster)
