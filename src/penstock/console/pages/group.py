"""The page of one group: members, lag of each partition in records and seconds; reset and delete."""

from __future__ import annotations

from nicegui import ui

from penstock.client.errors import GroupNotFound
from penstock.console.components.chart import Chart
from penstock.console.components.controls import button
from penstock.console.components.grid import Column, Grid, Row
from penstock.console.components.layout import Facts, Notice, page_head, panel
from penstock.console.components.live import Live
from penstock.console.dialogs.delete_group import DeleteGroupDialog
from penstock.console.dialogs.reset_group import ResetGroupDialog
from penstock.console.feed import Reading
from penstock.console.group_stats import AllGroups, GroupStats, PartitionStats
from penstock.console.services import Services
from penstock.console.wording import UNKNOWN, behind, number

FACTS = ("State", "Protocol", "Assignor", "Coordinator", "Members", "Lag records", "Lag time")
PARTITIONS = (
    Column("topic", "Topic"),
    Column("partition", "Partition", "number", "100px"),
    Column("committed", "Committed", "number", "130px"),
    Column("end", "End", "number", "130px"),
    Column("lag", "Lag", "number", "110px"),
    Column("seconds", "Lag, time", "seconds", "110px"),
    Column("member", "Read by", "text", "220px", "wide-only"),
)
MEMBERS = (
    Column("member", "Member", "mono"),
    Column("client", "Client", "text", "200px"),
    Column("host", "Host", "text", "160px", "wide-only"),
    Column("instance", "Instance", "text", "140px", "wide-only"),
    Column("partitions", "Partitions", "number", "110px"),
)
NOTHING_COMMITTED = {"title": "Nothing committed", "text": "The group has no offsets, so it has no lag."}
NO_MEMBERS = {"title": "No members", "text": "No consumer of this group is running. Its offsets are kept."}


def group_page(services: Services, name: str) -> None:
    ui.page_title(f"{name} · {services.title}")
    GroupPage(services, name)


class GroupPage:
    def __init__(self, services: Services, name: str) -> None:
        self._services = services
        self._name = name
        with Live("section").classes("page") as page:
            reset, delete = ResetGroupDialog(services, name), DeleteGroupDialog(services, name)
            with page_head(name, (("Groups", "/groups"),), "Group"):
                button("Reset offsets", reset.ask, symbol="rewind").mark("reset-group")
                button("Delete group", delete.ask, symbol="trash").mark("delete-group")
            self._notice = Notice("group-notice")
            self._facts = Facts(FACTS)
            with ui.element("div").classes("columns"):
                self._records = Chart("Lag in records", "number")
                self._seconds = Chart("Lag in time", "seconds")
            with panel("Partitions"):
                self._partitions = Grid("Partitions", PARTITIONS, NOTHING_COMMITTED)
            with panel("Members"):
                self._members = Grid("Members", MEMBERS, NO_MEMBERS)
        page.until_gone(services.groups.watch(self._receive))

    def _receive(self, reading: Reading[AllGroups]) -> None:
        if reading.value is None:
            return
        try:
            group = reading.value.group(self._name)
        except GroupNotFound as error:
            self._notice.show(str(error))
            return
        self._notice.show("")
        self._show_facts(group)
        self._partitions.show([_partition_row(each) for each in group.partitions])
        self._members.show([_member_row(group, at) for at in range(len(group.info.members))])
        self._show_charts()

    def _show_facts(self, group: GroupStats) -> None:
        info = group.info
        self._facts.show(
            state=info.state.capitalize(),
            protocol=info.kind.capitalize(),
            assignor=info.assignor or UNKNOWN,
            coordinator=UNKNOWN if info.coordinator is None else f"Broker {info.coordinator}",
            members=number(len(info.members)),
            lag_records=number(group.lag),
            lag_time=behind(group.behind),
        )

    def _show_charts(self) -> None:
        history, name = self._services.history, self._name
        records, seconds = f"group {name} lag", f"group {name} seconds"
        found = history.series([records, seconds])
        if records in found:
            self._records.show(history.moments, {"records": found[records]})
        if seconds in found:
            self._seconds.show(history.moments, {"behind": found[seconds]})


def _partition_row(each: PartitionStats) -> Row:
    lag, late = each.lag, each.behind
    return {
        "id": f"{lag.topic}-{lag.partition}",
        "topic": lag.topic,
        "href": f"/topics/{lag.topic}?from=offset&offset={lag.committed_offset}&partition={lag.partition}",
        "partition": lag.partition,
        "committed": lag.committed_offset,
        "end": lag.end_offset,
        "lag": lag.lag,
        "seconds": behind(late) if late is not None and not late.exact else late and late.seconds,
        "member": "" if lag.member is None else f"{lag.member.client_id} ({lag.member.host})",
    }


def _member_row(group: GroupStats, at: int) -> Row:
    member = group.info.members[at]
    return {
        "id": member.member_id,
        "member": member.member_id,
        "client": member.client_id,
        "host": member.host,
        "instance": member.instance_id or "",
        "partitions": len(member.partitions),
    }
