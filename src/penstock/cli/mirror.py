"""`penstock mirror`: the flows of an mm2.properties in the foreground, and what can be asked about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from penstock.cli.logs import log_level_option, log_to_stderr
from penstock.cli.options import address, set_option
from penstock.cli.output import print_json, print_table
from penstock.settings.sources import read_properties

if TYPE_CHECKING:
    from penstock.mirror.inspecting import FailoverPlan, FlowStatus
    from penstock.mirror.settings import FlowSettings

_config_option = click.option(
    "--config",
    "config",
    required=True,
    type=click.Path(exists=True, dir_okay=False, readable=True),
    metavar="FILE",
    help="Kafka's mm2.properties, as it is.",
)
_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.group(invoke_without_command=True)
@click.option(
    "--config",
    "config",
    type=click.Path(exists=True, dir_okay=False, readable=True),
    metavar="FILE",
    help="Kafka's mm2.properties, as it is.",
)
@click.option(
    "--clusters", multiple=True, metavar="ALIAS", help="Only flows to this cluster. May be repeated."
)
@click.option(
    "--listen",
    callback=address,
    default="127.0.0.1:8084",
    show_default=True,
    metavar="HOST:PORT",
    help="Address of /flows and /metrics; port 0 picks a free one.",
)
@set_option
@log_level_option
@click.pass_context
def mirror(
    context: click.Context,
    config: str | None,
    clusters: tuple[str, ...],
    listen: tuple[str, int],
    overrides: dict[str, str],
    log_level: str,
) -> None:
    """Mirror topics, groups and ACLs between clusters, as MirrorMaker 2 does.

    Without a command the flows of FILE run until SIGTERM or Ctrl-C. A line `ready HOST:PORT` on standard
    output says that they have started.
    """
    if context.invoked_subcommand is not None:
        return
    if config is None:
        raise click.UsageError("Name a file with --config, or one of the commands.")
    log_to_stderr(log_level)
    from penstock.mirror.service import run
    from penstock.mirror.settings import MirrorSettings

    settings = MirrorSettings({**read_properties(config), **overrides})
    names = [name for given in clusters for name in given.replace(",", " ").split()]
    try:
        run(settings, listen, names or None)
    except OSError as error:
        raise click.ClickException(error.strerror or str(error)) from error


def _flow(config: str, source: str | None, target: str | None) -> FlowSettings:
    """The flow that is meant; it need not be named where there is only one."""
    from penstock.mirror.settings import MirrorSettings

    settings = MirrorSettings(read_properties(config))
    flows = [flow for flow in settings.flows() if flow.enabled]
    wanted = [f for f in flows if source in (None, f.source) and target in (None, f.target)]
    if len(wanted) != 1:
        names = ", ".join(map(str, flows))
        raise click.UsageError(f"Name one flow with --from and --to. The file enables: {names or 'none'}.")
    return wanted[0].checked()


def _flow_options(command: Any) -> Any:
    for option in (
        _json_option,
        click.option("--to", "target", metavar="ALIAS", help="The target of the flow."),
        click.option("--from", "source", metavar="ALIAS", help="The source of the flow."),
        _config_option,
    ):
        command = option(command)
    return command


@mirror.command("status")
@_flow_options
def show_status(config: str, source: str | None, target: str | None, as_json: bool) -> None:
    """Show how far a flow is, from what both clusters hold."""
    from penstock.mirror.inspecting import sides, status

    flow = _flow(config, source, target)
    with sides(flow) as (one, other):
        found = status(flow, one, other)
    if as_json:
        print_json(found.shown())
        return
    age = found.heartbeat_age_seconds
    beats = "no heartbeat has arrived" if age is None else f"the last heartbeat is {age:.1f} s old"
    answers = "" if found.source_answers else f", and {flow.source} does not answer"
    click.echo(f"{found.flow}: {beats}{answers}")
    print_partitions(found)


def print_partitions(found: FlowStatus) -> None:
    columns = ("Topic", "Partition", "Copied", "End", "Lag", "Lag s")
    rows = [
        (each.topic, each.partition, each.copied, each.end, each.lag, _seconds(each.lag_seconds))
        for each in found.partitions
    ]
    print_table("Partitions", columns, rows)


def _seconds(lag: float | None) -> str | None:
    return None if lag is None else f"{lag:.1f}"


@mirror.command("flows")
@click.option("--url", default="http://127.0.0.1:8084", show_default=True, help="The running mirror.")
@click.option("--partitions", is_flag=True, help="A line for each partition.")
@_json_option
def show_flows(url: str, partitions: bool, as_json: bool) -> None:
    """Ask a running mirror for the states, lags, rates and errors of its flows."""
    found = _ask(url.rstrip("/") + "/flows")
    if as_json:
        print_json(found)
        return
    columns = ("Lag", "Lag s", "Records/s", "Bytes/s")
    if partitions:
        rows = [
            (_name(flow), row["topic"], row["partition"], *_numbers(row))
            for flow in found
            for row in flow["partitions"]
        ]
        print_table("Partitions", ("Flow", "Topic", "Partition", *columns), rows)
        return
    flows = [(_name(flow), flow["state"], *_numbers(flow), _errors(flow["errors"])) for flow in found]
    print_table("Flows", ("Flow", "State", *columns, "Errors"), flows)


def _ask(url: str) -> Any:
    import json
    import urllib.request

    if not url.startswith(("http://", "https://")):
        raise click.UsageError(f"{url} is no address of a mirror: give one such as http://127.0.0.1:8084.")
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return json.load(answer)
    except (OSError, ValueError) as error:
        raise click.ClickException(f"No mirror answers at {url}: {error}") from error


def _name(flow: dict[str, Any]) -> str:
    return f"{flow['source']}->{flow['target']}"


def _numbers(shown: dict[str, Any]) -> tuple[Any, ...]:
    rates = (f"{shown[name]:,.1f}" for name in ("records_per_second", "bytes_per_second"))
    return shown["lag_records"], _seconds(shown["lag_seconds"]), *rates


def _errors(errors: dict[str, int]) -> str:
    return ", ".join(f"{duty}: {count}" for duty, count in sorted(errors.items())) or "none"


@mirror.command("offsets")
@_flow_options
@click.option("--group", help="Only this group.")
def show_offsets(
    config: str, source: str | None, target: str | None, as_json: bool, group: str | None
) -> None:
    """Show where groups of the source go on at the target (what RemoteClusterUtils answers)."""
    from penstock.mirror.inspecting import checkpoints, sides

    flow = _flow(config, source, target)
    with sides(flow) as (_, other):
        found = checkpoints(flow, other)
    rows = [
        (name, *place, each.upstream, each.downstream)
        for name, places in sorted(found.items())
        if group in (None, name)
        for place, each in sorted(places.items())
    ]
    columns = ("Group", "Topic", "Partition", "Source offset", "Target offset")
    if as_json:
        keys = ("group", "topic", "partition", "source_offset", "target_offset")
        print_json([dict(zip(keys, row, strict=True)) for row in rows])
    else:
        print_table("Offsets", columns, rows)


@mirror.command("failover")
@_flow_options
@click.option("--group", required=True, help="The group that moves.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@click.option("--dry-run", is_flag=True, help="Only say what it would mean.")
def fail_over_group(
    config: str,
    source: str | None,
    target: str | None,
    as_json: bool,
    group: str,
    yes: bool,
    dry_run: bool,
) -> None:
    """Let a group go on at the target of a flow.

    First it says what would be read again and what would be lost. Then, and only for a group without members
    there, the translated offsets are committed on the target.
    """
    from penstock.mirror.inspecting import fail_over, plan_failover, sides

    flow = _flow(config, source, target)
    with sides(flow) as (one, other):
        plan = plan_failover(flow, one, other, group)
        if as_json:
            rows = [each._asdict() for each in plan.resumptions]
            left = [str(place) for place in plan.untranslated]
            print_json({**plan._asdict(), "resumptions": rows, "untranslated": left})
        else:
            _print_plan(plan, flow.source)
        if dry_run:
            return
        if not plan.may_commit:
            raise click.ClickException(
                f"Group {group!r} has members on {flow.target} ({plan.state}): stop them first."
            )
        if not plan.resumptions:
            raise click.ClickException(f"Nothing is known of group {group!r} on {flow.target}.")
        if not yes:
            click.confirm(f"Commit these offsets for group {group!r} on {flow.target}?", abort=True, err=True)
        fail_over(other, plan)
        click.echo(f"Group {group!r} goes on at {flow.target}.", err=as_json)


def _print_plan(plan: FailoverPlan, source: str) -> None:
    columns = ("Topic", "Partition", "Goes on at", "To read", "Read again at most", "Not copied")
    rows = [tuple("unknown" if cell is None else cell for cell in each) for each in plan.resumptions]
    print_table(f"Group {plan.group}", columns, rows)
    if not plan.source_answers:
        click.echo(f"{source} does not answer: what it has and the target has not is not known.")
    if plan.untranslated:
        places = ", ".join(map(str, plan.untranslated))
        click.echo(f"Without an offset on the target, to be read from the start or the end: {places}")
