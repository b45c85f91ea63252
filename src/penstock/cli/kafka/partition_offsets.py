"""Where partitions begin and end, and what they had at a time: ListOffsets for Kafka's commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.cli.kafka.asking import Asker

LATEST: Final = -1
EARLIEST: Final = -2
NOT_FOUND: Final = -1


def partition_offsets(asker: Asker, times: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], int]:
    """The first offset at or after each time (in ms, or `EARLIEST`, `LATEST`); `NOT_FOUND` when there is
    none. Raises when a partition is not there."""
    from penstock.protocol.apis import Api
    from penstock.protocol.topic_partition import TopicPartition
    from penstock.wire import offsets

    wanted = {TopicPartition(*at): time_ms for at, time_ms in times.items()}
    found = asker.asked(Api.LIST_OFFSETS, lambda deadline: offsets.at(asker.cluster, wanted, deadline))
    return {tuple(at): NOT_FOUND if offset is None else offset for at, offset in found.items()}
