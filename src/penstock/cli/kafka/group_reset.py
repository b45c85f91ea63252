"""`kafka-consumer-groups --reset-offsets`: which partitions, and the offset that each of them gets."""

from __future__ import annotations

import csv
import io
import re
import sys
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from penstock.cli.kafka.asking import Asker, Refused, text_of
from penstock.cli.kafka.group_options import SCENARIOS
from penstock.cli.kafka.group_requests import Groups, Partition
from penstock.cli.kafka.group_tables import print_error
from penstock.cli.kafka.options import CommandFailed, Given, OptionError
from penstock.cli.kafka.partition_offsets import EARLIEST, LATEST, NOT_FOUND, partition_offsets

_DURATION: Final = re.compile(
    r"([+-]?)P(?:([+-]?\d+)D)?(?:T(?:([+-]?\d+)H)?(?:([+-]?\d+)M)?(?:([+-]?\d+(?:\.\d{0,9})?)S)?)?", re.I
)
Offsets = dict[Partition, int]


def new_offsets(asker: Asker, groups: Groups, group_id: str, given: Given) -> Offsets:
    """The plan for one group, from the scope and the scenario that were given."""
    scenario = next((name for name in SCENARIOS if given.has(name)), None)
    partitions = _scope(asker, groups, group_id, given)
    if scenario is None:
        named = ", ".join(f"[{name}]" for name in SCENARIOS)
        given.refuse(f"Option '[reset-offsets]' requires one of the following scenarios: [{named}]")
    if scenario == "to-earliest":
        return partition_offsets(asker, dict.fromkeys(partitions, EARLIEST))
    if scenario == "to-latest":
        return partition_offsets(asker, dict.fromkeys(partitions, LATEST))
    if scenario == "to-offset":
        return _within(asker, dict.fromkeys(partitions, given.value("to-offset")))
    if scenario == "shift-by":
        return _within(asker, _shifted(groups.committed(group_id), partitions, given.value("shift-by")))
    if scenario == "to-current":
        committed = groups.committed(group_id)
        ends = partition_offsets(asker, {at: LATEST for at in partitions if at not in committed})
        return {at: committed.get(at, ends.get(at, 0)) for at in partitions}
    if scenario == "from-file":
        return _from_file(asker, group_id, given)
    if scenario == "to-datetime":
        return at_time(asker, partitions, moment_of(given.value("to-datetime")))
    now_ms = int(time.time() * 1000)
    return at_time(asker, partitions, now_ms - duration_ms(given.value("by-duration")))


def _scope(asker: Asker, groups: Groups, group_id: str, given: Given) -> list[Partition]:
    if given.has("all-topics"):
        return sorted(groups.committed(group_id))
    if given.has("topic"):
        return partitions_in(asker, given.values("topic"))
    if not given.has("from-file"):
        given.refuse("One of the reset scopes should be defined: --all-topics, --topic.")
    return []


def partitions_in(asker: Asker, topics: Iterable[str]) -> list[Partition]:
    """`topic` is all partitions of a topic, `topic:0,1` some."""
    found: list[Partition] = []
    whole = []
    for text in topics:
        if ":" not in text:
            whole.append(text)
            continue
        name, _, indexes = text.partition(":")
        for index in indexes.split(","):
            if not index.isdecimal():
                raise OptionError(f"Invalid partition '{index}' specified in topic arg '{text}''")
            found.append((name, int(index)))
    known = asker.topics(whole) if whole else {}
    if any(name not in known for name in whole):
        code = "UNKNOWN_TOPIC_OR_PARTITION"
        raise Refused(code, text_of(code))
    return found + [(name, index) for name in whole for index in sorted(known[name].partitions)]


def _shifted(committed: Mapping[Partition, int], partitions: Iterable[Partition], by: int) -> Offsets:
    wanted = {}
    for at in partitions:
        if at not in committed:
            raise OptionError(
                f"Cannot shift offset for partition {at[0]}-{at[1]} since there is no current committed "
                "offset"
            )
        wanted[at] = committed[at] + by
    return wanted


def _within(asker: Asker, wanted: Offsets) -> Offsets:
    """The same offsets, none of them before the beginning or after the end of its partition."""
    starts = partition_offsets(asker, dict.fromkeys(wanted, EARLIEST))
    ends = partition_offsets(asker, dict.fromkeys(wanted, LATEST))
    kept = {}
    for at, offset in wanted.items():
        kept[at] = min(max(offset, starts[at]), ends[at])
        if kept[at] != offset:
            side = "higher than latest" if offset > ends[at] else "lower than earliest"
            print(
                f"WARN New offset ({offset}) is {side} offset for topic partition {at[0]}-{at[1]}. "
                f"Value will be set to {kept[at]}",
                file=sys.stderr,
            )
    return kept


def at_time(asker: Asker, partitions: Iterable[Partition], time_ms: int) -> Offsets:
    found = partition_offsets(asker, dict.fromkeys(partitions, time_ms))
    empty = [at for at, offset in found.items() if offset == NOT_FOUND]
    for topic, index in empty:
        print(f"\nWarn: Partition {index} from topic {topic} is empty. Falling back to latest known offset.")
    return found | partition_offsets(asker, dict.fromkeys(empty, LATEST))


def _from_file(asker: Asker, group_id: str, given: Given) -> Offsets:
    path = given.value("from-file")
    try:
        rows = [row for row in csv.reader(io.StringIO(Path(path).read_text(encoding="utf-8"))) if row]
    except OSError:
        raise CommandFailed(f"java.nio.file.NoSuchFileException: {path}") from None
    wanted: Offsets = {}
    try:
        for row in rows:
            own = row if len(row) == 4 else [group_id, *row]
            group, topic, index, offset = own
            if group == group_id:
                wanted[topic, int(index)] = int(offset)
    except ValueError:
        raise CommandFailed(
            f"{path}: a line is not topic,partition,offset or group,topic,partition,offset"
        ) from None
    if not wanted:
        print_error(f"No reset plan for group {group_id} found")
        return {}
    return _within(asker, wanted)


def exported(planned: Mapping[str, Mapping[Partition, int]], *, with_group: bool) -> str:
    """The plan as CSV, a line for each partition."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for group_id, offsets in planned.items():
        for (topic, index), offset in sorted(offsets.items()):
            writer.writerow([group_id, topic, index, offset] if with_group else [topic, index, offset])
    return out.getvalue()


def moment_of(text: str) -> int:
    """`YYYY-MM-DDThh:mm:ss.sss`, perhaps with a zone; UTC without one."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise CommandFailed(f'java.text.ParseException: Unparseable date: "{text}"') from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)


def duration_ms(text: str) -> int:
    """`PnDTnHnMnS`, as Java's `Duration` reads it."""
    found = _DURATION.fullmatch(text)
    if found is None or not any(found.groups()[1:]):
        raise CommandFailed("Text cannot be parsed to a Duration")
    sign, days, hours, minutes, seconds = found.groups()
    total = int(days or 0) * 86_400 + int(hours or 0) * 3600 + int(minutes or 0) * 60 + float(seconds or 0)
    return int(total * 1000) * (-1 if sign == "-" else 1)
