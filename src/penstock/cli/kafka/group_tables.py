"""The tables of `kafka-consumer-groups --describe` and `--list`, in Kafka's columns."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from penstock.cli.kafka.group_requests import Group, Member, Partition
from penstock.cli.kafka.options import CommandFailed

MISSING: Final = "-"
WIDTH: Final = 15
_CHANGING: Final = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")


def print_error(message: str) -> None:
    print(f"\nError: {message}")


def says_state(group: Group) -> bool:
    """Prints what there is to say of the group's state; whether its table follows."""
    if group.state == "Dead":
        print_error(f"Consumer group '{group.group_id}' does not exist.")
        return False
    if group.state == "Empty":
        print(f"\nConsumer group '{group.group_id}' has no active members.", file=sys.stderr)
    elif group.state in _CHANGING:
        print(f"\nWarning: Consumer group '{group.group_id}' is rebalancing.", file=sys.stderr)
    elif group.state != "Stable":
        raise CommandFailed(f"Expected a valid consumer group state, but found '{group.state}'.")
    return True


def print_listing(groups: Sequence[tuple[str, str, str]], *, types: bool, states: bool) -> None:
    """Groups with their types and states."""
    width = max([WIDTH, *(len(group_id) for group_id, _, _ in groups)]) + 10
    rows = [("GROUP", "TYPE", "STATE"), *groups]
    for group_id, kind, state in rows:
        columns = [f"{group_id:<{width}}"]
        columns += [f"{kind:<20}"] if types else []
        columns += [f"{state:<20}"] if states else []
        print(" ".join(columns))


def print_offsets(
    group: Group, committed: Mapping[Partition, int], ends: Mapping[Partition, int], *, verbose: bool
) -> None:
    rows = []
    assigned: set[Partition] = set()
    for member in sorted(
        (one for one in group.members if one.partitions), key=lambda one: len(one.partitions), reverse=True
    ):
        assigned.update(member.partitions)
        who = (member.member_id, member.host, member.client_id)
        rows += [_offset_row(group, at, committed, ends, who) for at in _by_partition(member.partitions)]
    nobody = (MISSING, MISSING, MISSING)
    left = [at for at in committed if at not in assigned]
    rows += [_offset_row(group, at, committed, ends, nobody) for at in _by_partition(left)]
    if not rows:
        return
    names = ["GROUP", "TOPIC", "PARTITION", "LEADER-EPOCH", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG"]
    table = [[*names, "CONSUMER-ID", "HOST", "CLIENT-ID"], *rows]
    widths = [
        widest(table, 0),
        widest(table, 1),
        10,
        15,
        15,
        15,
        15,
        widest(table, 7),
        widest(table, 8),
        0,
    ]
    if not verbose:
        table = [row[:3] + row[4:] for row in table]
        widths = widths[:3] + widths[4:]
    print_table(table, widths)


def _by_partition(partitions: Iterable[Partition]) -> list[Partition]:
    return sorted(partitions, key=lambda at: (at[1], at[0]))


def _offset_row(
    group: Group,
    at: Partition,
    committed: Mapping[Partition, int],
    ends: Mapping[Partition, int],
    who: tuple[str, str, str],
) -> list[str]:
    offset, end = committed.get(at), ends.get(at)
    lag = None if offset is None or end is None else end - offset
    numbers = [_shown(None), _shown(offset), _shown(end), _shown(lag)]
    return [group.group_id, at[0], str(at[1]), *numbers, *who]


def print_members(group: Group, *, verbose: bool) -> None:
    with_instances = any(member.instance_id for member in group.members)
    header = ["GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS"]
    table = [header, *(_member_row(group, member) for member in group.members)]
    widths = [widest(table, column) for column in range(5)] + [WIDTH]
    widths[2] = max(17, widths[2])
    if verbose:
        header += ["CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT"]
        for row, member in zip(table[1:], group.members, strict=True):
            row += _member_details(group, member)
        widths += [WIDTH, max(20, widest(table, 7)), WIDTH, max(20, widest(table, 9))]
    if not with_instances:
        table = [row[:2] + row[3:] for row in table]
        widths = widths[:2] + widths[3:]
    print()
    for row in table:
        print(" ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)), end="")
        print("" if verbose else " ")


def _member_row(group: Group, member: Member) -> list[str]:
    return [
        group.group_id,
        member.member_id,
        member.instance_id,
        member.host,
        member.client_id,
        str(len(member.partitions)),
    ]


def _member_details(group: Group, member: Member) -> list[str]:
    target = None if member.target is None else assigned(member.target)
    return [_shown(member.epoch), assigned(member.partitions), _shown(group.target_epoch), target or MISSING]


def assigned(partitions: Iterable[Partition]) -> str:
    by_topic: dict[str, list[str]] = {}
    for topic, index in partitions:
        by_topic.setdefault(topic, []).append(str(index))
    return (
        ";".join(f"{topic}:{','.join(sorted(found))}" for topic, found in sorted(by_topic.items())) or MISSING
    )


def print_state(group: Group, *, verbose: bool) -> None:
    header = [
        "GROUP",
        "COORDINATOR (ID)",
        "ASSIGNMENT-STRATEGY",
        "STATE",
        "GROUP-EPOCH",
        "TARGET-ASSIGNMENT-EPOCH",
    ]
    row = [group.group_id, group.coordinator, group.assignor or MISSING, group.state]
    row += [_shown(group.epoch), _shown(group.target_epoch)]
    table = [[*header, "#MEMBERS"], [*row, str(len(group.members))]]
    widths = [widest(table, 0), max(25, widest(table, 1)), 20, 20, 15, 25, 0]
    if not verbose:
        table = [cells[:4] + cells[6:] for cells in table]
        widths = widths[:4] + widths[6:]
    print_table(table, widths)


def print_new_offsets(offsets: Mapping[str, Mapping[Partition, int]]) -> None:
    rows = [
        [group_id, topic, str(index), str(offset)]
        for group_id, partitions in offsets.items()
        for (topic, index), offset in sorted(partitions.items())
    ]
    table = [["GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"], *rows]
    if offsets:
        width = max(WIDTH, *map(len, offsets))
        print_table(table, [width, widest(table, 1), 10, 0])
    else:
        print()


def print_table(table: Sequence[Sequence[str]], widths: Sequence[int]) -> None:
    """An empty line, then the rows; the last column is as wide as its text."""
    print()
    for row in table:
        print(" ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)))


def widest(table: Sequence[Sequence[str]], column: int) -> int:
    return max(WIDTH, *(len(row[column]) for row in table[1:])) if len(table) > 1 else WIDTH


def _shown(number: int | None) -> str:
    return MISSING if number is None else str(number)
