"""`kafka-reassign-partitions`: move the replicas of partitions to other brokers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from penstock.cli.kafka.asking import Asker, Refused
from penstock.cli.kafka.assignment_files import (
    ANYWHERE,
    Place,
    Wanted,
    check_for_execution,
    name_of,
    read_assignment,
    read_topics,
    written,
)
from penstock.cli.kafka.options import CommandFailed, Given, UsageError, VersionWanted
from penstock.cli.kafka.properties import load_properties
from penstock.cli.kafka.reassign_options import read_options
from penstock.cli.kafka.reassign_requests import (
    clear_throttles,
    current_replicas,
    current_replicas_of_topics,
    directories,
    moves,
    proposed_replicas,
    reassign,
    set_throttle,
)
from penstock.cli.kafka.starting import script

EXISTING: Final = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to override this "
    "and create a new partition assignment in addition to the existing one. The --additional flag can also "
    "be used to change the throttle by resubmitting the current reassignment."
)
RUN_VERIFY: Final = (
    "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle "
    "is removed."
)


class Terse(CommandFailed):
    """A failure that Kafka prints as it is; before others it writes `Error:`."""


def reassign_partitions(words: Sequence[str]) -> int:
    """Kafka prints the failures of this command to standard output."""
    action, given = read_options(words)
    try:
        if given.has("bootstrap-controller"):
            raise CommandFailed("--bootstrap-controller is not supported yet: give --bootstrap-server")
        asker = Asker(given.value("bootstrap-server"), load_properties(given.value("command-config")))
        ACTIONS[action](asker, given)
    except (UsageError, VersionWanted):
        raise
    except CommandFailed as error:
        shown = f"{error.java_class}: {error}" if isinstance(error, Refused) else str(error)
        print(shown if isinstance(error, Terse) else f"Error: {shown}")
        return 1
    return 0


def _list(asker: Asker, given: Given) -> None:
    found = moves(asker)
    if not found:
        print("No partition reassignments found.")
        return
    print("Current partition reassignments:")
    for place, move in sorted(found.items()):
        parts = {"": move.replicas, " adding": move.adding, " removing": move.removing}
        tail = "".join(f"{name}: {_commas(ids)}." for name, ids in parts.items() if name and ids)
        print(f"{name_of(place)}: replicas: {_commas(move.replicas)}.{tail}")


def _generate(asker: Asker, given: Given) -> None:
    try:
        brokers = [int(word) for word in given.value("broker-list").split(",")]
    except ValueError:
        raise CommandFailed(f'For input string: "{given.value("broker-list")}"') from None
    twice = sorted({broker for broker in brokers if brokers.count(broker) > 1})
    if twice:
        raise CommandFailed(f"Broker list contains duplicate entries: {twice}")
    current = current_replicas_of_topics(asker, read_topics(given.value("topics-to-move-json-file")))
    proposed = proposed_replicas(asker, current, brokers, rack_aware=not given.has("disable-rack-aware"))
    print(f"Current partition replica assignment\n{written(current, directories(asker, current))}\n")
    print(f"Proposed partition reassignment configuration\n{written(proposed)}")


def _execute(asker: Asker, given: Given) -> None:
    wanted = read_assignment(given.value("reassignment-json-file"))
    check_for_execution(wanted)
    _refuse_directories(wanted)
    ongoing = moves(asker)
    if ongoing and not given.has("additional"):
        raise Terse(EXISTING)
    unknown = {broker for one in wanted for broker in one.replicas} - set(asker.brokers())
    if unknown:
        raise CommandFailed(f"Unknown broker id {min(unknown)}")
    targets = {one.place: one.replicas for one in wanted}
    current = current_replicas(asker, targets)
    print(f"Current partition replica assignment\n\n{written(current, directories(asker, current))}\n")
    print("Save this to use as the --reassignment-json-file option during rollback")
    rate = given.value("throttle")
    if rate >= 0 or given.value("replica-alter-log-dirs-throttle") >= 0:
        print(RUN_VERIFY)
    if rate >= 0:
        set_throttle(asker, ongoing, targets, current, rate)
        print(f"The inter-broker throttle limit was set to {rate} B/s")
    _check_all(reassign(asker, targets), "Error reassigning partition(s):")
    print(f"Successfully started partition reassignment{_s(targets)} for {_names(targets)}")


def _refuse_directories(wanted: Sequence[Wanted]) -> None:
    """A broker places replicas in its directories by itself: there is no AlterReplicaLogDirs."""
    for one in wanted:
        named = next((each for each in one.directories if each != ANYWHERE), None)
        if named is not None:
            raise CommandFailed(
                f"The log directory {named} of {name_of(one.place)} cannot be chosen: replicas are moved "
                f'between brokers only. Write "{ANYWHERE}" for it.'
            )


def _verify(asker: Asker, given: Given) -> None:
    wanted = read_assignment(given.value("reassignment-json-file"))
    ongoing = moves(asker)
    print("Status of partition reassignment:")
    targets = {one.place: one.replicas for one in wanted}
    still = [place for place in targets if place not in ongoing]
    found = current_replicas(asker, still, missing_is_empty=True)
    for place, replicas in sorted(targets.items()):
        print(_state(place, replicas, found.get(place)))
    print()
    if not ongoing and not given.has("preserve-throttles"):
        _clear_throttles(asker, targets)


def _state(place: Place, replicas: list[int], found: list[int] | None) -> str:
    if found is None:
        return f"Reassignment of partition {name_of(place)} is still in progress."
    if found == replicas:
        return f"Reassignment of partition {name_of(place)} is completed."
    return (
        f"There is no active reassignment of partition {name_of(place)}, but replica set is {_commas(found)} "
        f"rather than {_commas(replicas)}."
    )


def _cancel(asker: Asker, given: Given) -> None:
    wanted = read_assignment(given.value("reassignment-json-file"))
    targets = {one.place: one.replicas for one in wanted}
    active = {place: None for place in moves(asker) if place in targets}
    if active:
        _check_all(reassign(asker, active), f"Error cancelling partition reassignment{_s(active)} for:")
        print(f"Successfully cancelled partition reassignment{_s(active)} for: {_names(active)}")
    else:
        print("None of the specified partition reassignments are active.")
    print("None of the specified partition moves are active.", end="")
    if not given.has("preserve-throttles"):
        _clear_throttles(asker, targets)


def _clear_throttles(asker: Asker, targets: Mapping[Place, list[int]]) -> None:
    brokers = sorted({*asker.brokers(), *(broker for ids in targets.values() for broker in ids)})
    topics = sorted({topic for topic, _ in targets})
    print(f"Clearing broker-level throttles on broker{_s(brokers)} {_commas(brokers)}")
    print(f"Clearing topic-level throttles on topic{_s(topics)} {','.join(topics)}")
    clear_throttles(asker, brokers, topics)


def _check_all(errors: Mapping[Place, Refused], what: str) -> None:
    if errors:
        lines = [f"{name_of(place)}: {error}" for place, error in sorted(errors.items())]
        raise Terse("\n".join([what, *lines]))


def _s(items: Sequence[object] | Mapping[Place, object]) -> str:
    return "" if len(items) == 1 else "s"


def _names(places: Mapping[Place, object]) -> str:
    return ",".join(name_of(place) for place in sorted(places))


def _commas(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


ACTIONS: Final[dict[str, Callable[[Asker, Given], None]]] = {
    "list": _list,
    "generate": _generate,
    "execute": _execute,
    "verify": _verify,
    "cancel": _cancel,
}

main = script(reassign_partitions)
