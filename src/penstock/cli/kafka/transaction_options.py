"""The options of `kafka-transactions`."""

from __future__ import annotations

from penstock.cli.kafka.arguments import ArgumentParser


def transaction_parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="kafka-transactions.sh",
        description="This tool is used to analyze the transactional state of producers in the cluster. It "
        "can be used to detect and recover from hanging transactions.",
    )
    parser.add_argument("-v", "--version", action="store_true", help="show the version of Kafka and exit")
    parser.add_argument("--command-config", metavar="FILE", help="property file for the admin client")
    parser.add_argument("--bootstrap-server", metavar="host:port", required=True, help="brokers to ask")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", required=True)
    listing = commands.add_parser("list", help="list transactions")
    listing.add_argument("--duration-filter", type=int, default=-1, help="open for longer, in milliseconds")
    listing.add_argument("--transactional-id-pattern", help="a regular expression for transactional ids")
    describe = commands.add_parser("describe", help="describe the state of an active transactional-id")
    describe.add_argument("--transactional-id", required=True, help="transactional id")
    producers = commands.add_parser("describe-producers", help="describe the producers of a partition")
    producers.add_argument("--broker-id", type=int, help="a replica to ask instead of the leader")
    producers.add_argument("--topic", required=True, help="topic name")
    producers.add_argument("--partition", type=int, required=True, help="partition number")
    abort = commands.add_parser("abort", help="abort a hanging transaction")
    abort.add_argument("--topic", required=True, help="topic name")
    abort.add_argument("--partition", type=int, required=True, help="partition number")
    abort.add_argument("--start-offset", type=int, help="start offset of the transaction to abort")
    abort.add_argument("--producer-id", type=int, help="producer id, for brokers before 3.0")
    abort.add_argument("--producer-epoch", type=int, help="producer epoch, for brokers before 3.0")
    abort.add_argument("--coordinator-epoch", type=int, help="coordinator epoch, for brokers before 3.0")
    hanging = commands.add_parser("find-hanging", help="find hanging transactions")
    hanging.add_argument("--broker-id", type=int, help="broker id to search for hanging transactions")
    hanging.add_argument("--max-transaction-timeout", type=int, default=15, help="in minutes")
    hanging.add_argument("--topic", help="topic name (required if --partition is specified)")
    hanging.add_argument("--partition", type=int, help="partition number")
    terminate = commands.add_parser(
        "forceTerminateTransaction", help="Force abort an ongoing transaction on transactionalId"
    )
    terminate.add_argument("--transactionalId", dest="transactional_id", required=True)
    return parser
