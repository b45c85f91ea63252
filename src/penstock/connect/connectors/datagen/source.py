"""Confluent's DatagenConnector. The offset is the number of the next record, so the same seed gives the same
records again, and a worker that was killed leaves none out and repeats none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, ClassVar, Final

from penstock.clock import SystemClock
from penstock.connect.api import ConfigDef, ConnectRecord, Importance, Kind
from penstock.connect.api.config_def import at_least, non_empty, one_of
from penstock.connect.api.refusals import Mistakes, unsupported
from penstock.connect.api.source import Place, SourceConnector, SourceOffsets, SourceRecord, SourceTask
from penstock.connect.connectors.datagen.quickstarts import QUICKSTARTS
from penstock.connect.errors import ConnectError

AT_ONCE: Final = 5_000
NUMBER: Final = "penstock.task.number"
_DEFAULT_SEED: Final = 0
CONFIG: Final = (
    ConfigDef()
    .define("kafka.topic", Kind.STRING, importance=Importance.HIGH, validator=non_empty, doc="The topic.")
    .define(
        "quickstart",
        Kind.STRING,
        importance=Importance.HIGH,
        validator=one_of(*QUICKSTARTS, ignore_case=True),
        recommended=tuple(QUICKSTARTS),
        doc="Which kind of records.",
    )
    .define(
        "max.interval",
        Kind.LONG,
        500,
        importance=Importance.HIGH,
        validator=at_least(0),
        doc="The longest pause between two records in milliseconds; half of it on average. 0: no pause.",
    )
    .define(
        "iterations",
        Kind.INT,
        -1,
        importance=Importance.HIGH,
        doc="How many records each task makes; -1 for ever.",
    )
    .define(
        "schema.keyfield",
        Kind.STRING,
        "",
        importance=Importance.HIGH,
        doc="The field that is the key, instead of the quick-start's own.",
    )
    .define(
        "random.seed", Kind.LONG, None, importance=Importance.LOW, doc="Another seed gives other records."
    )
)
UNSUPPORTED: Final = {
    "schema.string": "Use one of the quick-starts.",
    "schema.filename": "Use one of the quick-starts.",
    "generate.timeout": "",
}


class DatagenTask(SourceTask):
    def __init__(self, config: Mapping[str, str], offsets: SourceOffsets) -> None:
        super().__init__(config, offsets)
        given = CONFIG.parse(config)
        self._made = QUICKSTARTS[given["quickstart"].lower()]
        self._topic: str = given["kafka.topic"]
        self._key: str = given["schema.keyfield"] or self._made.key
        self._pause_ms = given["max.interval"] / 2
        self._end: int = given["iterations"]
        number = int(config.get(NUMBER, 0))
        self._place = {"task": number}
        self._seed = f"{_DEFAULT_SEED if given['random.seed'] is None else given['random.seed']}:{number}"
        self._now_ms = SystemClock().now_ms()

    def poll(self) -> Sequence[SourceRecord]:
        at = self.offsets.get(self._place) or {"iteration": 0, "at": 0}
        first = int(at["iteration"])
        count = AT_ONCE
        if self._pause_ms:
            due = 1 if not at["at"] else int((self._now_ms - at["at"]) / self._pause_ms)
            count = min(due, AT_ONCE)
        if self._end >= 0:
            count = min(count, self._end - first)
        return [self._record(number) for number in range(first, first + count)]

    def _record(self, number: int) -> SourceRecord:
        value = self._made.record(number, Random(f"{self._seed}:{number}"))
        field = self._made.schema.field(self._key)
        key = None if field is None else value.get(self._key)
        record = ConnectRecord(
            self._topic, key=key, key_schema=None if field is None else field.schema, value=value,
            value_schema=self._made.schema,
        )  # fmt: skip
        return SourceRecord(self._place, {"iteration": number + 1, "at": self._now_ms}, record)


class DatagenSource(SourceConnector):
    NAMES: ClassVar = ("io.confluent.kafka.connect.datagen.DatagenConnector",)
    CONFIG: ClassVar = CONFIG
    TASK: ClassVar = DatagenTask
    TASK_NAME: ClassVar = "io.confluent.kafka.connect.datagen.DatagenTask"
    GUARANTEE: ClassVar = "exactly once: a record is made from its number, and the number is the offset"
    POLL_MS: ClassVar = 100

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> Mistakes:
        found = unsupported(config, UNSUPPORTED)
        made, key = QUICKSTARTS.get(str(config.get("quickstart")).lower()), config.get("schema.keyfield")
        if made is not None and key and made.schema.field(key) is None:
            found.append(("schema.keyfield", f"{config['quickstart']} has no field {key}"))
        return found

    def task_configs(self, most: int) -> list[dict[str, str]]:
        return [{**self.config, NUMBER: str(number)} for number in range(most)]

    def has_news(self, offsets: SourceOffsets) -> bool:
        """Until every task has made all of its records; and not before the next one is due."""
        end, now = int(self.config.get("iterations") or -1), SystemClock().now_ms()
        pause_ms = int(self.config.get("max.interval") or 500) / 2
        for number in range(int(self.config.get("tasks.max") or 1)):
            at = offsets.get({"task": number})
            if at is None:
                return end != 0
            if (end < 0 or int(at["iteration"]) < end) and now - int(at["at"]) >= pause_ms:
                return True
        return False

    def check_offsets(self, changes: Sequence[tuple[Place, Place | None]]) -> None:
        for partition, offset in changes:
            if partition.keys() != {"task"}:
                raise ConnectError("Partition objects should contain the key 'task' and no other")
            if offset is not None and not {"iteration", "at"} <= offset.keys():
                raise ConnectError(
                    "Offset objects should either be null or contain the keys 'iteration' and 'at'"
                )
