"""`kafka-consumer-groups`: list, describe, delete and reset consumer groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.cli.kafka.asking import Asker, Refused
from penstock.cli.kafka.group_options import ACTIONS, checked, parser
from penstock.cli.kafka.group_requests import Groups, Partition
from penstock.cli.kafka.group_reset import exported, new_offsets, partitions_in
from penstock.cli.kafka.group_tables import (
    print_error,
    print_listing,
    print_members,
    print_new_offsets,
    print_offsets,
    print_state,
    says_state,
)
from penstock.cli.kafka.options import CommandFailed, Given, OptionError
from penstock.cli.kafka.partition_offsets import LATEST, partition_offsets
from penstock.cli.kafka.properties import load_properties
from penstock.cli.kafka.starting import script

STATES: Final = (
    "Empty",
    "Assigning",
    "CompletingRebalance",
    "Stable",
    "Dead",
    "PreparingRebalance",
    "Reconciling",
)
TYPES: Final = ("Consumer", "Classic")


def consumer_groups(words: Sequence[str]) -> int:
    given = checked(parser().parse(words))
    if given.has("validate-regex"):
        return _validate(given.value("validate-regex"))
    properties = load_properties(given.value("command-config"))
    properties["default.api.timeout.ms"] = str(given.value("timeout"))
    asker = Asker(given.value("bootstrap-server"), properties)
    try:
        _BODIES[next(action for action in ACTIONS if given.has(action))](asker, given)
    except OptionError as error:
        given.refuse(str(error))
    except CommandFailed as error:
        # Kafka ends with success here, too.
        print_error(f"Executing consumer group command failed due to {error}")
    return 0


def _validate(pattern: str) -> int:
    """Whether brokers would take the expression of a subscription; they read it with RE2."""
    import re2  # type: ignore[import-untyped]

    try:
        re2.compile(pattern)
    except re2.error as error:
        print(f"The regular expression `{pattern}` is invalid: {_reason(error)}.")
    else:
        print(f"The regular expression `{pattern}` is valid.")
    return 0


def _reason(error: Exception) -> str:
    """RE2's sentence without the part of the expression that it quotes."""
    reason = error.args[0] if error.args else ""
    text = reason.decode() if isinstance(reason, bytes) else str(reason)
    return text.partition(": ")[0]


def _list(asker: Asker, given: Given) -> None:
    states = _chosen(given, "state", STATES, "Invalid state list '{}'. Valid states are: {}")
    types = _chosen(given, "type", TYPES, "Invalid types list '{}'. Valid types are: {}")
    groups = Groups(asker).listed(states, types)
    if given.has("state") or given.has("type"):
        print_listing(groups, types=given.has("type"), states=given.has("state"))
        return
    for group_id, _, _ in groups:
        print(group_id)


def _chosen(given: Given, option: str, known: Sequence[str], complaint: str) -> list[str]:
    text = given.value(option)
    if not text:
        return []
    by_name = {name.lower(): name for name in known}
    words = [word.strip().lower() for word in text.split(",")]
    if not set(words) <= set(by_name):
        given.refuse(complaint.format(text, ", ".join(known)))
    return [by_name[word] for word in words]


def _group_ids(groups: Groups, given: Given) -> list[str]:
    if given.has("all-groups"):
        return [group_id for group_id, _, _ in groups.listed()]
    return given.values("group")


def _describe(asker: Asker, given: Given) -> None:
    groups = Groups(asker)
    verbose = given.has("verbose")
    try:
        found = [groups.described(group_id) for group_id in sorted(set(_group_ids(groups, given)))]
    except Refused as error:
        raise CommandFailed(f"{error.java_class}: {error}") from error
    for group in found:
        if given.has("members"):
            if says_state(group):
                print_members(group, verbose=verbose)
        elif given.has("state"):
            if says_state(group):
                print_state(group, verbose=verbose)
        elif says_state(group):
            committed = groups.committed(group.group_id)
            wanted = {*committed, *(at for member in group.members for at in member.partitions)}
            ends = partition_offsets(asker, dict.fromkeys(wanted, LATEST))
            print_offsets(group, committed, ends, verbose=verbose)


def _delete(asker: Asker, given: Given) -> None:
    groups = Groups(asker)
    done, failed = [], {}
    for group_id in dict.fromkeys(_group_ids(groups, given)):
        try:
            groups.delete(group_id)
            done.append(group_id)
        except Refused as error:
            failed[group_id] = error
    if not failed:
        print(f"Deletion of requested consumer groups ('{', '.join(done)}') was successful.")
        return
    print_error("Deletion of some consumer groups failed:")
    for group_id, why in failed.items():
        print(f"* Group '{group_id}' could not be deleted due to: {why.java_class}: {why}")
    if done:
        named = "', '".join(done)
        print(f"\nThese consumer groups were deleted successfully: '{named}'")


def _reset(asker: Asker, given: Given) -> None:
    groups = Groups(asker)
    planned: dict[str, dict[Partition, int]] = {}
    for group_id in _group_ids(groups, given):
        try:
            state = groups.described(group_id).state
        except Refused as error:
            if error.name != "GROUP_ID_NOT_FOUND":
                raise
            state = "Dead"  # offsets may be set before a group has ever had a member
        if state not in ("Empty", "Dead"):
            print_error(
                f"Assignments can only be reset if the group '{group_id}' is inactive, but the current state "
                f"is {state}."
            )
            planned[group_id] = {}
            continue
        offsets = new_offsets(asker, groups, group_id, given)
        if given.has("execute"):
            groups.commit(group_id, offsets)
        planned[group_id] = offsets
    if given.has("export"):
        print(exported(planned, with_group=len(given.values("group")) != 1))
    else:
        print_new_offsets(planned)


def _delete_offsets(asker: Asker, given: Given) -> None:
    group_id = given.value("group")
    partitions = partitions_in(asker, given.values("topic"))
    whole, results = Groups(asker).delete_offsets(group_id, partitions)
    if whole is None:
        print(f"Request succeeded for deleting offsets from group {group_id}.")
    elif whole.name in (
        "GROUP_SUBSCRIBED_TO_TOPIC",
        "TOPIC_AUTHORIZATION_FAILED",
        "UNKNOWN_TOPIC_OR_PARTITION",
    ):
        print_error("Encountered some partition-level error, see the follow-up details.")
    else:
        print_error(str(whole))
    width = max([15, *(len(topic) for topic, _ in results)])
    print(f"\n{'TOPIC':<{width}} {'PARTITION':<10} {'STATUS':<15}")
    for (topic, index), error in sorted(results.items(), key=lambda item: f"{item[0][0]}{item[0][1]}"):
        status = "Successful" if error is None else f"Error: {error.java_class}: {error}"
        print(f"{topic:<{width}} {index:<10} {status:<15}")


_BODIES: Final = {
    "list": _list,
    "describe": _describe,
    "delete": _delete,
    "reset-offsets": _reset,
    "delete-offsets": _delete_offsets,
}

main = script(consumer_groups)
