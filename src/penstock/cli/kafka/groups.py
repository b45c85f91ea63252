"""`kafka-groups`: lists groups of every type with their protocols."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from penstock.cli.kafka.asking import Asker, check
from penstock.cli.kafka.options import Given, Parser
from penstock.cli.kafka.properties import load_properties
from penstock.cli.kafka.starting import script

TYPES: Final = ("Classic", "Consumer", "Share", "Streams")
_FILTERS: Final = ("consumer", "group-type", "protocol", "share", "streams")


class Group(NamedTuple):
    group_id: str
    group_type: str
    protocol: str


def groups(words: Sequence[str]) -> int:
    given = _checked(_parser().parse(words))
    asker = Asker(given.value("bootstrap-server"), load_properties(given.value("command-config")))
    chosen = [group for group in _listed(asker) if _wanted(group, given)]
    rows = [("GROUP", "TYPE", "PROTOCOL"), *chosen]
    widths = [max([15, *(len(row[column]) for row in chosen)]) for column in (0, 1, 2)]
    if not chosen:
        widths = [5, 4, 8]
    for row in rows:
        print(f"{row[0]:<{widths[0]}} {row[1]:<{widths[1]}} {row[2]:<{widths[2]}}".rstrip())
    return 0


def _listed(asker: Asker) -> list[Group]:
    from penstock.protocol.apis import Api

    found = []
    for node_id in asker.brokers():
        answer = asker.broker(node_id, Api.LIST_GROUPS, {"states_filter": [], "types_filter": []}, (4, 5))
        check(answer)
        found += [
            Group(group.group_id, getattr(group, "group_type", "Classic").title(), group.protocol_type)
            for group in answer.groups
        ]
    return sorted(found)


def _wanted(group: Group, given: Given) -> bool:
    if given.has("consumer"):
        return group.group_type == "Consumer" or group.protocol in ("consumer", "")
    for flag in ("share", "streams"):
        if given.has(flag):
            return group.group_type == flag.title()
    right_type = not given.has("group-type") or group.group_type.lower() == given.value("group-type").lower()
    return right_type and (not given.has("protocol") or group.protocol == given.value("protocol"))


def _checked(given: Given) -> Given:
    if not given.has("list"):
        given.refuse("Command must include exactly one action: --list.")
    given.require("bootstrap-server")
    if given.has("group-type") and given.value("group-type").title() not in TYPES:
        given.refuse("--group-type must be a valid group type.")
    for name in ("consumer", "share", "streams"):
        given.forbid(name, *(other for other in _FILTERS if other != name))
    return given


def _parser() -> Parser:
    options = Parser("This tool helps to list groups of all types.")
    options.takes("bootstrap-server", what="server to connect to", text="REQUIRED: The server(s) to use.")
    options.takes("command-config", what="command config property file", text="Settings of the client.")
    options.flag("list", text="List the groups.")
    options.flag("consumer", text="Filter the groups to show all kinds of consumer groups.")
    options.flag("share", text="Filter the groups to show share groups.")
    options.flag("streams", text="Filter the groups to show streams groups.")
    options.takes(
        "group-type", what="type", text="Filter the groups by type: classic, consumer, share, streams."
    )
    options.takes("protocol", what="protocol", text="Filter the groups by protocol type.")
    return options


main = script(groups)
