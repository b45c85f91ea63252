"""`kafka-share-groups`: list, describe, delete and reset share groups."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Final

from penstock.cli.kafka.asking import Asker, Refused
from penstock.cli.kafka.group_requests import Group
from penstock.cli.kafka.group_reset import at_time, moment_of, partitions_in
from penstock.cli.kafka.group_tables import assigned, print_error, print_new_offsets, print_table, widest
from penstock.cli.kafka.options import CommandFailed, Given, OptionError
from penstock.cli.kafka.partition_offsets import EARLIEST, LATEST, partition_offsets
from penstock.cli.kafka.properties import load_properties
from penstock.cli.kafka.share_group_options import ACTIONS, SCENARIOS, checked, parser
from penstock.cli.kafka.share_group_requests import ShareGroups
from penstock.cli.kafka.starting import script

STATES: Final = ("Dead", "Empty", "Stable")


def share_groups(words: Sequence[str]) -> int:
    given = checked(parser().parse(words))
    properties = load_properties(given.value("command-config"))
    properties["default.api.timeout.ms"] = str(given.value("timeout"))
    asker = Asker(given.value("bootstrap-server"), properties)
    try:
        _BODIES[next(action for action in ACTIONS if given.has(action))](asker, given)
    except OptionError as error:
        given.refuse(str(error))
    except Refused as error:
        # Kafka ends with success here, too.
        print_error(f"Executing share group command failed due to {error.java_class}: {error}")
    except CommandFailed as error:
        print_error(f"Executing share group command failed due to {error}")
    return 0


def _list(asker: Asker, given: Given) -> None:
    by_name = {name.lower(): name for name in STATES}
    text = given.value("state") or ""
    words = [word.strip().lower() for word in text.split(",") if word.strip()]
    if not set(words) <= set(by_name):
        given.refuse(f"Invalid state list '{text}'. Valid states are: {', '.join(STATES)}")
    groups = ShareGroups(asker).listed([by_name[word] for word in words])
    if not given.has("state"):
        for group_id, _, _ in groups:
            print(group_id)
        return
    rows = [["GROUP", "STATE"], *([group_id, state] for group_id, _, state in groups)]
    for row in rows:
        print(f"{row[0]:<{widest(rows, 0)}} {row[1]}")


def _group_ids(groups: ShareGroups, given: Given) -> list[str]:
    if given.has("all-groups"):
        return [group_id for group_id, _, _ in groups.listed()]
    return sorted(set(given.values("group")))


def _describe(asker: Asker, given: Given) -> None:
    groups = ShareGroups(asker)
    show = _members if given.has("members") else _state if given.has("state") else _offsets
    for group in [groups.described(group_id) for group_id in _group_ids(groups, given)]:
        show(groups, group, given.has("verbose"))


def _has_members(group: Group) -> bool:
    if group.state == "Empty":
        print(f"\nShare group '{group.group_id}' has no active members.", file=sys.stderr)
    return bool(group.members)


def _offsets(groups: ShareGroups, group: Group, verbose: bool) -> None:
    table = [["GROUP", "TOPIC", "PARTITION", "LEADER-EPOCH", "START-OFFSET", "LAG"]]
    for (topic, index), place in sorted(groups.places(group.group_id).items()):
        numbers = [place.leader_epoch, place.start_offset, place.lag]
        table.append(
            [group.group_id, topic, str(index), *("-" if number < 0 else str(number) for number in numbers)]
        )
    if len(table) > 1:
        widths = [widest(table, 0), widest(table, 1), 10, 13, 13, 0]
        _print(table, widths, verbose, 3, 4)


def _members(groups: ShareGroups, group: Group, verbose: bool) -> None:
    if not _has_members(group):
        return
    header = ["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "MEMBER-EPOCH", "ASSIGNMENT"]
    table = [header]
    for member in group.members:
        size, epoch = str(len(member.partitions)), str(member.epoch)
        who = [group.group_id, member.member_id, member.host, member.client_id]
        table.append([*who, size, epoch, assigned(member.partitions)])
    widths = [*(widest(table, column) for column in range(4)), 12, 13, 0]
    _print(table, widths, verbose, 5, 6)


def _state(groups: ShareGroups, group: Group, verbose: bool) -> None:
    _has_members(group)
    table = [
        ["GROUP", "COORDINATOR (ID)", "STATE", "GROUP-EPOCH", "ASSIGNMENT-EPOCH", "#MEMBERS"],
        [
            *(group.group_id, group.coordinator, group.state),
            *(str(group.epoch), str(group.target_epoch), str(len(group.members))),
        ],
    ]
    widths = [widest(table, 0), max(25, widest(table, 1)), 15, 12, 17, 0]
    _print(table, widths, verbose, 3, 5)


def _print(table: list[list[str]], widths: list[int], verbose: bool, start: int, end: int) -> None:
    """The table; columns from `start` to before `end` are for people that asked for everything."""
    if not verbose:
        table = [row[:start] + row[end:] for row in table]
        widths = widths[:start] + widths[end:]
    print_table(table, widths)


def _delete(asker: Asker, given: Given) -> None:
    groups = ShareGroups(asker)
    known = {group_id: state for group_id, _, state in groups.listed()}
    done: list[str] = []
    failed: dict[str, str] = {}
    for group_id in _group_ids(groups, given):
        if group_id not in known:
            failed[group_id] = f"java.lang.IllegalArgumentException: Group '{group_id}' is not a share group."
        elif known[group_id] != "Empty":
            why = f"Share group '{group_id}' is not EMPTY."
            failed[group_id] = f"org.apache.kafka.common.errors.GroupNotEmptyException: {why}"
        else:
            try:
                groups.delete(group_id)
                done.append(group_id)
            except Refused as error:
                failed[group_id] = f"{error.java_class}: {error}"
    if not failed:
        print(f"Deletion of requested share groups ('{', '.join(done)}') was successful.")
        return
    print_error("Deletion of some share groups failed:")
    for group_id, why in failed.items():
        print(f"* Group '{group_id}' could not be deleted due to: {why}")
    if done:
        named = "', '".join(done)
        print(f"\nThese share groups were deleted successfully: '{named}'")


def _reset(asker: Asker, given: Given) -> None:
    groups, group_id = ShareGroups(asker), given.value("group")
    try:
        if groups.described(group_id).members:
            given.refuse(f"Share group '{group_id}' is not empty.")
    except Refused as error:
        if error.name != "GROUP_ID_NOT_FOUND":
            raise  # a place may be set before a group has ever had a member
    if given.has("all-topics"):
        partitions = sorted(groups.places(group_id))
    else:
        partitions = partitions_in(asker, given.values("topic"))
    scenario = next((name for name in SCENARIOS if given.has(name)), None)
    if scenario == "to-datetime":
        offsets = at_time(asker, partitions, moment_of(given.value("to-datetime")))
    elif scenario is not None:
        end = EARLIEST if scenario == "to-earliest" else LATEST
        offsets = partition_offsets(asker, dict.fromkeys(partitions, end))
    else:
        given.refuse(
            "Option [reset-offsets] takes one of these options: [to-datetime], [to-earliest], [to-latest]"
        )
    if given.has("execute"):
        groups.set_places(group_id, offsets)
    print_new_offsets({group_id: offsets})


def _delete_offsets(asker: Asker, given: Given) -> None:
    whole, results = ShareGroups(asker).forget(given.value("group"), given.values("topic"))
    if whole is not None:
        print_error(str(whole))
    rows = [["TOPIC", "STATUS"]]
    for topic, error in results.items():
        rows.append([topic, "Successful" if error is None else f"Error: {error}"])
    print_table(rows, [widest(rows, 0), 0])


_BODIES: Final[dict[str, Callable[[Asker, Given], None]]] = {
    "list": _list,
    "describe": _describe,
    "delete": _delete,
    "reset-offsets": _reset,
    "delete-offsets": _delete_offsets,
}

main = script(share_groups)
