"""Rules of alerts, and what breaks them. Pure: the engine decides when, the notifier tells whom."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from penstock.client.errors import InvalidValue
from penstock.console.broker_stats import Traffic
from penstock.console.cluster_values import Disks
from penstock.console.group_stats import AllGroups
from penstock.console.overview import Overview
from penstock.console.pipelines import Pipeline
from penstock.console.wording import counted, seconds

CHANNELS: Final = ("webhook", "slack", "email")


class Channel(msgspec.Struct, frozen=True):
    kind: str
    """webhook, slack or email."""
    to: str
    """An address: http(s)://… or somebody@example.org."""


class Rule(msgspec.Struct, frozen=True):
    name: str
    kind: str
    target: str = "*"
    """Which groups, topics, directories or pipelines: a name, with * and ? as in file names."""
    threshold: float = 0.0
    for_s: float = 0.0
    """How long it must be so before the alert fires."""
    channels: tuple[Channel, ...] = ()
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Observations:
    """What the rules are judged by; None for what could not be looked at."""

    overview: Overview | None = None
    groups: AllGroups | None = None
    disks: Disks | None = None
    traffic: Traffic | None = None
    pipelines: Sequence[Pipeline] | None = field(default=None)


Violations = Mapping[str, str]
"""A sentence for each thing that breaks a rule."""


@dataclass(frozen=True, slots=True)
class Kind:
    title: str
    unit: str
    """What the threshold counts; empty when there is none."""
    judge: Callable[[Rule, Observations], Iterator[tuple[str, str]] | None]
    """Pairs of subject and sentence; None when nothing can be said now."""


def violations(rule: Rule, seen: Observations) -> Violations | None:
    """None when what the rule looks at is not known: an alert then neither fires nor clears."""
    found = KINDS[rule.kind].judge(rule, seen)
    if found is None:
        return None
    return {name: sentence for name, sentence in found if fnmatch.fnmatchcase(name, rule.target or "*")}


def checked(rule: Rule) -> Rule:
    """The rule, or what is wrong with it."""
    if not rule.name.strip():
        raise InvalidValue("The rule has no name. Write one.")
    if rule.kind not in KINDS:
        raise InvalidValue(f"There is no rule of kind {rule.kind!r}. Use one of {', '.join(KINDS)}.")
    for channel in rule.channels:
        web = channel.to.startswith(("http://", "https://"))
        if channel.kind not in CHANNELS or (channel.kind == "email") == web or not channel.to:
            raise InvalidValue(
                f"{channel.to!r} is no address for {channel.kind or 'a channel'}. Webhooks and Slack take "
                "http(s)://…, e-mail takes somebody@example.org."
            )
    return rule


def _lag(rule: Rule, seen: Observations) -> Iterator[tuple[str, str]] | None:
    if seen.groups is None:
        return None
    return (
        (group.info.group_id, f"Group {group.info.group_id} is {counted(group.lag, 'record')} behind")
        for group in seen.groups.groups
        if group.lag > rule.threshold
    )


def _lag_time(rule: Rule, seen: Observations) -> Iterator[tuple[str, str]] | None:
    if seen.groups is None:
        return None
    found = ((group, group.behind) for group in seen.groups.groups)
    return (
        (group.info.group_id, f"Group {group.info.group_id} is {seconds(late.seconds)} behind")
        for group, late in found
        if late is not None and late.seconds > rule.threshold
    )


def _no_data(rule: Rule, seen: Observations) -> Iterator[tuple[str, str]] | None:
    if seen.overview is None:
        return None
    named = "*" not in rule.target and "?" not in rule.target
    return (
        (topic.name, f"Topic {topic.name} gets {topic.records_per_second or 0:.1f} records/s")
        for topic in seen.overview.topics
        if (named or not topic.internal)
        and topic.records_per_second is not None
        and topic.records_per_second <= rule.threshold
    )


def _errors(rule: Rule, seen: Observations) -> Iterator[tuple[str, str]] | None:
    if seen.traffic is None or seen.traffic.failed is None:
        return None
    failed = seen.traffic.failed
    broken = failed > rule.threshold
    return iter([("brokers", f"{failed:.1f} requests a second are refused")] if broken else [])


def _disk(rule: Rule, seen: Observations) -> Iterator[tuple[str, str]] | None:
    if seen.disks is None:
        return None
    return (
        (f"{each.broker}:{each.path}", _disk_sentence(each.broker, each.path, each.full_percent))
        for each in seen.disks.directories
        if each.error or (each.full_percent or 0.0) > rule.threshold
    )


def _disk_sentence(broker: int, path: str, full: float | None) -> str:
    state = "is offline" if full is None else f"is on a disk that is {full:.0f} % full"
    return f"{path} of broker {broker} {state}"


def _under_replicated(rule: Rule, seen: Observations) -> Iterator[tuple[str, str]] | None:
    if seen.overview is None:
        return None
    counts = (
        (topic.name, sum(len(p.isr) < len(p.replicas) for p in topic.partitions))
        for topic in seen.overview.snapshot.topics
    )
    return (
        (name, f"Topic {name} has {counted(behind, 'partition')} with too few copies")
        for name, behind in counts
        if behind > rule.threshold
    )


def _failed_pipeline(_rule: Rule, seen: Observations) -> Iterator[tuple[str, str]] | None:
    if seen.pipelines is None:
        return None
    return (
        (each.name, f"{each.kind.capitalize()} {each.name} failed: {each.error or each.state.lower()}")
        for each in seen.pipelines
        if each.tone == "bad"
    )


KINDS: Final[Mapping[str, Kind]] = {
    "lag": Kind("A group is behind, in records", "records", _lag),
    "lag_time": Kind("A group is behind, in time", "seconds", _lag_time),
    "no_data": Kind("A topic gets no data", "records a second or fewer", _no_data),
    "errors": Kind("Requests are refused", "a second", _errors),
    "disk": Kind("A disk fills, or fails", "percent", _disk),
    "under_replication": Kind("Partitions lack copies", "partitions of a topic", _under_replicated),
    "failed_pipeline": Kind("A pipeline fails", "", _failed_pipeline),
}
