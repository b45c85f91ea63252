"""The options of source and sink, under the names of Spark's own Kafka connector, read once and checked.

Which names there are stands in `penstock.spark.option_names`. A value that we cannot honour is refused with
a sentence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from penstock.protocol.topic_partition import TopicPartition
from penstock.records.codecs import Codec
from penstock.security.client_settings import ClientSettings, ClientSettingsError
from penstock.spark.format_options import DecodeErrors, FieldFormat, decode_errors, field_formats
from penstock.spark.option_names import READING, WRITING, checked, spelled
from penstock.spark.option_names import SERVERS as SERVERS
from penstock.spark.option_names import OptionError as OptionError
from penstock.spark.positions import Positions, beginning, from_offsets, from_time, from_times, now
from penstock.wire.produce import DELIVERY_SECONDS

_PATIENCE_SECONDS: Final = 60.0
_DELAY_SECONDS: Final = 15 * 60.0
_DURATION: Final = re.compile(r"\s*(\d+)\s*([a-z]*)\s*")
_UNITS: Final = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
_CODECS: Final = {codec.name.lower(): codec for codec in Codec}


@dataclass(frozen=True)
class ReadOptions:
    """What to read. Exactly one of `subscribe`, `pattern` and `assign` is set."""

    client: ClientSettings
    subscribe: tuple[str, ...] | None
    pattern: str | None
    assign: tuple[TopicPartition, ...] | None
    starting: Positions
    ending: Positions
    max_offsets_per_trigger: int | None
    min_offsets_per_trigger: int | None
    max_trigger_delay_seconds: float
    """How long a batch waits for `min_offsets_per_trigger`."""
    min_partitions: int | None
    max_records_per_partition: int | None
    group_id_for_offsets: str | None
    patience_seconds: float
    """How long the brokers may be silent before the query fails."""
    include_headers: bool
    fail_on_data_loss: bool
    read_committed: bool
    decode_errors: DecodeErrors
    columns: tuple[str, ...] | None


@dataclass(frozen=True)
class WriteOptions:
    client: ClientSettings
    topic: str | None
    codec: Codec
    delivery_seconds: float


def read_options(options: Mapping[str, str], *, streaming: bool) -> ReadOptions:
    given = checked(options, READING, "reading")
    most, least = _positive(given, "maxoffsetspertrigger"), _positive(given, "minoffsetspertrigger")
    if most is not None and least is not None and least > most:
        raise OptionError(f"minOffsetsPerTrigger ({least}) is more than maxOffsetsPerTrigger ({most})")
    patience_ms = _positive(given, "kafka.default.api.timeout.ms")
    start, end = _bounds(given, streaming=streaming)
    isolation = given.get("kafka.isolation.level", "read_uncommitted").lower()
    if isolation not in ("read_committed", "read_uncommitted"):
        raise OptionError(f"kafka.isolation.level is read_committed or read_uncommitted, not {isolation!r}")
    columns = given.get("columns")
    return ReadOptions(
        client=client_settings(given),
        **_subscription(given),
        starting=start or (now() if streaming else beginning()),
        ending=end or now(),
        max_offsets_per_trigger=most,
        min_offsets_per_trigger=least,
        max_trigger_delay_seconds=_seconds(given, "maxtriggerdelay", default=_DELAY_SECONDS),
        min_partitions=_positive(given, "minpartitions"),
        max_records_per_partition=_positive(given, "maxrecordsperpartition"),
        group_id_for_offsets=_group(given, streaming=streaming),
        patience_seconds=_PATIENCE_SECONDS if patience_ms is None else patience_ms / 1000,
        include_headers=_boolean(given, "includeheaders", default=False),
        fail_on_data_loss=_boolean(given, "failondataloss", default=True),
        read_committed=isolation == "read_committed",
        decode_errors=decode_errors(given),
        columns=None if columns is None else tuple(name.strip() for name in columns.split(",")),
    )


def client_settings(given: Mapping[str, str]) -> ClientSettings:
    """How to reach the brokers: the options `kafka.…` that Kafka's clients know for that."""
    properties = {name.removeprefix("kafka."): value for name, value in given.items() if "kafka." in name}
    try:
        return ClientSettings.from_properties({"client.id": "penstock-spark", **properties})
    except ClientSettingsError as error:
        raise OptionError(f"kafka.{error}") from None


def read_formats(options: Mapping[str, str]) -> tuple[FieldFormat, ...]:
    """How keys and values are written that are to be read; known before anything else of the options."""
    given = {name.lower(): value for name, value in options.items()}
    topics = None
    if "subscribe" in given or "assign" in given:
        subscription = _subscription(given)
        topics = subscription["subscribe"] or {partition.topic for partition in subscription["assign"]}
    return field_formats(given, topics)


def write_options(options: Mapping[str, str]) -> WriteOptions:
    given = checked(options, WRITING, "writing")
    codec = given.get("kafka.compression.type", "none").lower()
    if codec not in _CODECS:
        raise OptionError(f"kafka.compression.type is one of {', '.join(_CODECS)}, not {codec!r}")
    if given.get("kafka.acks", "all") not in ("all", "-1"):
        raise OptionError("kafka.acks is always all here: fewer acknowledgements would lose rows silently")
    delivery_ms = _positive(given, "kafka.delivery.timeout.ms")
    return WriteOptions(
        client=client_settings(given),
        topic=given.get("topic"),
        codec=_CODECS[codec],
        delivery_seconds=DELIVERY_SECONDS if delivery_ms is None else delivery_ms / 1000,
    )


def _subscription(given: Mapping[str, str]) -> dict[str, Any]:
    names = [name for name in ("subscribe", "subscribepattern", "assign") if name in given]
    if len(names) != 1:
        raise OptionError("set exactly one of subscribe, subscribePattern and assign to say which topics")
    subscription: dict[str, Any] = {"subscribe": None, "pattern": None, "assign": None}
    if "subscribe" in given:
        topics = tuple(dict.fromkeys(name.strip() for name in given["subscribe"].split(",") if name.strip()))
        if not topics:
            raise OptionError("subscribe names no topic: write the names with commas between them")
        subscription["subscribe"] = topics
    elif "assign" in given:
        subscription["assign"] = _assigned(given["assign"])
    else:
        subscription["pattern"] = _pattern(given["subscribepattern"])
    return subscription


def _assigned(text: str) -> tuple[TopicPartition, ...]:
    form = '{"topicA":[0,1],"topicB":[2,4]}'
    wrong = OptionError(f"assign is written as {form}, not {text!r}")
    assigned = _json(text, "assign", form)
    if not isinstance(assigned, dict) or not all(isinstance(each, list) for each in assigned.values()):
        raise wrong
    found = [TopicPartition(topic, number) for topic, numbers in assigned.items() for number in numbers]
    if not found or any(type(number) is not int or number < 0 for _, number in found):
        raise wrong
    return tuple(dict.fromkeys(found))


def _pattern(text: str) -> str:
    if not text.strip():
        raise OptionError("subscribePattern is a regular expression for the names of topics, not nothing")
    try:
        re.compile(text)
    except re.error as error:
        raise OptionError(f"subscribePattern is not a regular expression: {error}, in {text!r}") from None
    return text


def _bounds(given: Mapping[str, str], *, streaming: bool) -> tuple[Positions | None, Positions | None]:
    """Where to begin and to end, as far as it is said; what would read nothing is refused."""
    start, end = _positions(given, "starting"), _positions(given, "ending")
    if streaming and end is not None:
        raise OptionError("endingOffsets and endingTimestamp are for spark.read: a stream has no end")
    if end is not None and end.only_beginning:
        raise OptionError('endingOffsets cannot be "earliest": nothing would be read')
    if not streaming and start is not None and start.only_end:
        raise OptionError('startingOffsets cannot be "latest" with spark.read: nothing would be read')
    if start is not None and end is not None and (where := start.beyond(end)) is not None:
        raise OptionError(f"reading would begin after its end in {where}: exchange starting… and ending…")
    return start, end


def _positions(given: Mapping[str, str], side: str) -> Positions | None:
    """`startingOffsets` and its relatives; a time wins over offsets, as in Spark."""
    if f"{side}timestamp" in given:
        time = _number(given, f"{side}timestamp")
        if time < 0:
            raise OptionError(f"{side}Timestamp is milliseconds since 1970, which are not negative: {time}")
        return from_time(time, _strategy(given, side))
    if f"{side}offsetsbytimestamp" in given:
        form = '{"topicA":{"0":1000,"1":1000}}'
        times = _nested(given[f"{side}offsetsbytimestamp"], f"{side}OffsetsByTimestamp", form)
        if any(time < 0 for time in times.values()):
            raise OptionError(
                f"{side}OffsetsByTimestamp holds milliseconds since 1970, which are not negative"
            )
        return from_times(times, _strategy(given, side))
    text = given.get(f"{side}offsets", "").strip()
    if not text:
        return None
    if text.lower() == "earliest":
        return beginning()
    if text.lower() == "latest":
        return now()
    return from_offsets(_nested(text, f"{side}Offsets", '{"topicA":{"0":23,"1":-2}}'))


def _strategy(given: Mapping[str, str], side: str) -> bool:
    """Whether a partition without a record at or after the time counts as read to its end."""
    strategy = given.get("startingoffsetsbytimestampstrategy", "error").lower()
    if strategy not in ("error", "latest"):
        raise OptionError(f"startingOffsetsByTimestampStrategy is error or latest, not {strategy!r}")
    return side == "ending" or strategy == "latest"


def _nested(text: str, name: str, form: str) -> dict[TopicPartition, int]:
    try:
        return {
            TopicPartition(topic, int(partition)): _whole(number)
            for topic, numbers in _json(text, name, form).items()
            for partition, number in numbers.items()
        }
    except (TypeError, ValueError, AttributeError):
        raise OptionError(f"{name} is written as {form}, not {text!r}") from None


def _whole(number: object) -> int:
    if type(number) is not int:
        raise TypeError(number)
    return number


def _json(text: str, name: str, form: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise OptionError(f"{name} is written as {form}, not {text!r}") from None


def _number(given: Mapping[str, str], name: str) -> int:
    try:
        return int(given[name])
    except ValueError:
        raise OptionError(f"{spelled(name)} is a whole number, not {given[name]!r}") from None


def _positive(given: Mapping[str, str], name: str) -> int | None:
    if name not in given:
        return None
    number = _number(given, name)
    if number <= 0:
        raise OptionError(f"{spelled(name)} is more than zero, not {number}")
    return number


def _seconds(given: Mapping[str, str], name: str, *, default: float) -> float:
    """A time as Spark writes it: 15m, 30s, 500ms; milliseconds when there is no unit."""
    if name not in given:
        return default
    match = _DURATION.fullmatch(given[name].lower())
    if match is None or (match[2] or "ms") not in _UNITS:
        raise OptionError(f"{spelled(name)} is a time as 15m, 30s or 500ms, not {given[name]!r}")
    return int(match[1]) * _UNITS[match[2] or "ms"]


def _group(given: Mapping[str, str], *, streaming: bool) -> str | None:
    group = given.get("groupidforoffsets")
    if group is not None and not group.strip():
        raise OptionError("groupIdForOffsets is the id of a consumer group, not nothing")
    if group is not None and not streaming:
        raise OptionError("groupIdForOffsets is for spark.readStream: a batch has no progress to commit")
    return group


def _boolean(given: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = given.get(name, str(default)).lower()
    if text not in ("true", "false"):
        raise OptionError(f"{spelled(name)} is true or false, not {text!r}")
    return text == "true"
