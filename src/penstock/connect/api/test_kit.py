"""A connector tried without broker and without Spark: what a source emits, what a sink is given.

emitted = run_source(MySource, {"topic": "t"})
run_sink(MySink, {"url": "…"}, [ConnectRecord("t", 0, value="a", offset=0)])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.connect.api.sink import SinkConnector
from penstock.connect.api.source import Place, SourceConnector, SourceOffsets, SourceRecord
from penstock.connect.data.record import ConnectRecord
from penstock.protocol.topic_partition import TopicPartition


def run_source(
    connector: type[SourceConnector],
    config: Mapping[str, str],
    offsets: Sequence[tuple[Place, Place]] = (),
    polls: int = 1,
) -> list[SourceRecord]:
    """What the tasks emit in so many polls. ConfigError for a configuration that is not valid."""
    connector.CONFIG.parse(config)
    made = connector(config)
    emitted: list[SourceRecord] = []
    for settings in made.task_configs(int(config.get("tasks.max", "1"))):
        task = connector.TASK(settings, SourceOffsets(offsets))
        for _ in range(polls):
            found = list(task.poll())
            emitted += found
            task.offsets = task.offsets.advanced([(each.partition, each.offset) for each in found])
        task.close()
    made.close()
    return emitted


def run_sink(
    connector: type[SinkConnector], config: Mapping[str, str], records: Sequence[ConnectRecord]
) -> None:
    """Puts the records with one task, as one batch. Records that the sink has already are not put again. The
    first record that it rejects raises."""
    connector.CONFIG.parse(config)
    made = connector(config)
    task = connector.TASK(made.task_configs(1)[0])
    ends: dict[TopicPartition, int] = {}
    for record in records:
        place = TopicPartition(record.topic, record.partition or 0)
        ends[place] = max(ends.get(place, 0), (record.offset or 0) + 1)
    stored = task.stored_offsets(ends.keys())
    new = [
        each
        for each in records
        if (each.offset or 0) >= stored.get(TopicPartition(each.topic, each.partition or 0), 0)
    ]
    try:
        task.put(new)
        task.flush(ends)
        for _, error in task.rejected:
            raise error
    finally:
        task.close()
        made.close()
