"""`kafka-streams-application-reset`: an application of Streams begins anew.

Moves the offsets of input topics, skips to the end of intermediate ones, and deletes internal topics. It
works for applications of Kafka Streams and for Penstock's. `penstock streams reset` does the same and also
fences an application that still runs.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from penstock.cli.kafka.asking import Asker, Refused, check
from penstock.cli.kafka.group_requests import Groups, Partition
from penstock.cli.kafka.group_reset import duration_ms, moment_of
from penstock.cli.kafka.options import CommandFailed, Given
from penstock.cli.kafka.partition_offsets import EARLIEST, LATEST, NOT_FOUND, partition_offsets
from penstock.cli.kafka.properties import load_properties
from penstock.cli.kafka.starting import script
from penstock.cli.kafka.streams_reset_options import parsed, topics_in

Offsets = dict[Partition, int]


def streams_application_reset(words: Sequence[str]) -> int:
    given = parsed(words)
    properties = load_properties(given.value("config-file"))
    asker = Asker(given.value("bootstrap-server") or "localhost:9092", properties)
    groups = Groups(asker)
    try:
        _check_members(asker, groups, given)
        names = asker.topic_names()
        if given.has("dry-run"):
            print(
                "----Dry run displays the actions which will be performed when running Streams Reset Tool----"
            )
        code = _reset_offsets(asker, groups, given, names)
        _delete_internal(asker, given, names)
    except Refused as error:
        text = f"java.util.concurrent.ExecutionException: {error.java_class}: {error}"
        raise CommandFailed(f"ERROR: {text}") from error
    return code


def _check_members(asker: Asker, groups: Groups, given: Given) -> None:
    group_id = given.value("application-id")
    try:
        members = groups.described(group_id).members
    except Refused as error:
        if error.name != "GROUP_ID_NOT_FOUND":
            raise
        members = []  # offsets may be set before an application has ever run
    if not members:
        return
    if not given.has("force"):
        named = ", ".join(member.member_id for member in members)
        raise CommandFailed(
            f"ERROR: java.lang.IllegalStateException: Consumer group '{group_id}' is still active and has "
            f"following members: [{named}]. Make sure to stop all running application instances before "
            "running the reset tool. You can use option '--force' to remove active members from the group."
        )
    print(f"Force deleting all active members in the group: {group_id}")
    groups.remove_members(group_id, members)


def _reset_offsets(asker: Asker, groups: Groups, given: Given, names: Collection[str]) -> int:
    """Kafka's exit code: 1 when a topic that was named is not there."""
    inputs = topics_in(given, "input-topics")
    between = topics_in(given, "intermediate-topics")
    if between:
        print("WARN: `--intermediate-topics` is deprecated and will be removed in a future release")
    if not inputs and not between:
        print("No input or intermediate topics specified. Skipping seek.")
        return 0
    if inputs:
        print(f"Reset-offsets for input topics {_listed(inputs)}")
    if between:
        print(f"Seek-to-end for intermediate topics {_listed(between)}")
    missing = _say_missing("input", inputs, names, " ") | _say_missing("intermediate", between, names, "")
    known = [name for name in dict.fromkeys([*inputs, *between]) if name in names]
    if not known:
        return int(missing)
    found = asker.topics(known)
    places = [(name, index) for name in known for index in sorted(found[name].partitions)]
    wanted = _input_offsets(asker, groups, given, [at for at in places if at[0] in inputs])
    wanted |= _ends(asker, given, [at for at in places if at[0] not in inputs])
    if not given.has("dry-run"):
        groups.commit(given.value("application-id"), wanted)
    print("Done.")
    return int(missing)


def _say_missing(kind: str, wanted: Iterable[str], names: Collection[str], gap: str) -> bool:
    missing = [name for name in wanted if name not in names]
    if missing:
        print(f"Following {kind} topics are not found, skipping them")
    for name in missing:
        print(f"Topic:{gap}{name}")
    return bool(missing)


def _ends(asker: Asker, given: Given, places: list[Partition]) -> Offsets:
    if not places:
        return {}
    group_id = given.value("application-id")
    print(f"Following intermediate topics offsets will be reset to end (for consumer group {group_id})")
    for topic, _ in places:
        print(f"Topic: {topic}")
    return partition_offsets(asker, dict.fromkeys(places, LATEST))


def _input_offsets(asker: Asker, groups: Groups, given: Given, places: list[Partition]) -> Offsets:
    if not places:
        return {}
    group_id = given.value("application-id")
    print(f"Following input topics offsets will be reset to (for consumer group {group_id})")
    offsets = _position(asker, groups, given, places)
    for (topic, index), offset in offsets.items():
        print(f"Topic: {topic} Partition: {index} Offset: {offset}")
    return offsets


def _position(asker: Asker, groups: Groups, given: Given, places: list[Partition]) -> Offsets:
    if given.has("to-offset"):
        return _within(asker, dict.fromkeys(places, given.value("to-offset")))
    if given.has("to-latest"):
        return partition_offsets(asker, dict.fromkeys(places, LATEST))
    if given.has("shift-by"):
        committed = groups.committed(given.value("application-id"))
        ends = partition_offsets(asker, {at: LATEST for at in places if at not in committed})
        by = given.value("shift-by")
        return _within(asker, {at: (committed[at] if at in committed else ends[at]) + by for at in places})
    if given.has("to-datetime"):
        return _at_time(asker, places, moment_of(given.value("to-datetime")))
    if given.has("by-duration"):
        now_ms = int(time.time() * 1000)
        return _at_time(asker, places, now_ms - duration_ms(given.value("by-duration")))
    if given.has("from-file"):
        return _within(asker, _from_file(given.value("from-file"), places))
    return partition_offsets(asker, dict.fromkeys(places, EARLIEST))


def _from_file(path: str, places: Iterable[Partition]) -> Offsets:
    try:
        rows = [line.split(",") for line in Path(path).read_text(encoding="utf-8").splitlines()]
        planned = {(topic, int(index)): int(offset) for topic, index, offset in rows}
    except OSError as error:
        raise CommandFailed(f"ERROR: Resetting offsets failed.\nERROR: {path}: {error.strerror}") from None
    except ValueError:
        raise CommandFailed(
            "ERROR: Resetting offsets failed.\nERROR: java.text.ParseException: Reset plan CSV file is not "
            "following the format `TOPIC,PARTITION,OFFSET`."
        ) from None
    missing = [f"{topic}-{index}" for topic, index in places if (topic, index) not in planned]
    if missing:
        raise CommandFailed(f"ERROR: {path} has no offset for {', '.join(missing)}")
    return {at: planned[at] for at in places}


def _at_time(asker: Asker, places: list[Partition], time_ms: int) -> Offsets:
    found = partition_offsets(asker, dict.fromkeys(places, time_ms))
    empty = [at for at in places if found[at] == NOT_FOUND]
    for topic, index in empty:
        print(
            f"Partition {index} from topic {topic} is empty, without a committed record. Falling back to "
            "latest known offset."
        )
    return found | partition_offsets(asker, dict.fromkeys(empty, LATEST))


def _within(asker: Asker, wanted: Offsets) -> Offsets:
    """The same offsets, none of them outside its partition; each that is changed is told."""
    starts = partition_offsets(asker, dict.fromkeys(wanted, EARLIEST))
    ends = partition_offsets(asker, dict.fromkeys(wanted, LATEST))
    kept = {}
    for at, offset in wanted.items():
        if offset >= ends[at]:
            kept[at] = ends[at]
            print(f"New offset ({offset}) is higher than latest offset. Value will be set to {ends[at]}")
        elif offset <= starts[at]:
            kept[at] = starts[at]
            print(f"New offset ({offset}) is lower than earliest offset. Value will be set to {starts[at]}")
        else:
            kept[at] = offset
    return kept


def _delete_internal(asker: Asker, given: Given, names: Iterable[str]) -> None:
    from penstock.streams.resetting import is_internal_of

    spared = {*topics_in(given, "input-topics"), *topics_in(given, "intermediate-topics")}
    application = given.value("application-id")
    inferred = [name for name in names if is_internal_of(application, name) and name not in spared]
    chosen = topics_in(given, "internal-topics")
    if not set(chosen) <= set(inferred):
        raise CommandFailed(
            "ERROR: java.lang.IllegalArgumentException: Invalid topic specified in the --internal-topics "
            "option. Ensure that the topics specified are all internal topics. Do a dry run without the "
            "--internal-topics option to see the list of all internal topics that can be deleted."
        )
    doomed = chosen or inferred
    print(f"Deleting {'specified' if chosen else 'inferred'} internal topics {_listed(doomed)}")
    if doomed and not given.has("dry-run"):
        _delete(asker, doomed)
    print("Done.")


def _delete(asker: Asker, names: list[str]) -> None:
    from penstock.protocol.apis import Api

    fields = {
        "topics": [{"name": name, "topic_id": None} for name in names],
        "topic_names": names,
        "timeout": 60_000,
    }
    for result in asker.any(Api.DELETE_TOPICS, fields, (1, 6)).responses:
        check(result)


def _listed(names: Iterable[str]) -> str:
    return f"[{', '.join(names)}]"


main = script(streams_application_reset)
