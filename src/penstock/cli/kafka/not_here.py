"""Commands that a tutorial may print and that have nothing to do here: each says why and what to use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from penstock.cli.kafka.options import CommandFailed
from penstock.cli.kafka.starting import Body, script


def _refusing(name: str, reason: str) -> Body:
    def body(words: Sequence[str]) -> int:
        raise CommandFailed(f"{name}: {reason}.")

    return body


def _not_needed(sentence: str) -> Body:
    def body(words: Sequence[str]) -> int:
        print(sentence)
        return 0

    return body


streams_groups: Final = _refusing(
    "kafka-streams-groups",
    "groups of the protocol of KIP-1071 are not supported. `penstock streams describe` shows an "
    "application, kafka-streams-application-reset resets one",
)
client_metrics: Final = _refusing(
    "kafka-client-metrics",
    "metrics that clients push (KIP-714) are not collected. Brokers and services have /metrics",
)
mirror_maker: Final = _refusing(
    "kafka-mirror-maker", "Kafka has dropped the first MirrorMaker. connect-mirror-maker runs the second"
)
zookeeper_start: Final = _not_needed(
    "Penstock keeps its metadata itself, there is no ZooKeeper to start. Go on with kafka-server-start."
)
zookeeper_stop: Final = _not_needed("There is no ZooKeeper to stop.")

main_streams_groups: Final[Callable[[], NoReturn]] = script(streams_groups)
main_client_metrics: Final[Callable[[], NoReturn]] = script(client_metrics)
main_mirror_maker: Final[Callable[[], NoReturn]] = script(mirror_maker)
main_zookeeper_start: Final[Callable[[], NoReturn]] = script(zookeeper_start)
main_zookeeper_stop: Final[Callable[[], NoReturn]] = script(zookeeper_stop)
