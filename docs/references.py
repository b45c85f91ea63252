"""Writes the pages of docs/ that come from the code: `python docs/references.py`, and a hook of mkdocs."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click

from penstock.cli.main import COMMANDS, root
from penstock.client import lag_metrics
from penstock.handlers.table import HANDLERS
from penstock.metrics import connect, pipelines, streams
from penstock.metrics.text import Family
from penstock.mirror import counting
from penstock.server.metrics.families import families
from penstock.sqlserver import persistent
from penstock.web import metrics as web_metrics

HERE = Path(__file__).parent
WIDTH = 100


def cli_page() -> str:
    """Every command of `penstock` with its options."""
    lines = [
        "# Commands of `penstock`",
        "",
        "Written from the code by `python docs/references.py`. Kafka's own commands have a page of",
        "[their own](commands.md).",
        "",
        "All commands that ask a cluster take `--bootstrap-servers`, `--command-config`, `--timeout` and",
        "`--json`; below they are left out.",
        "",
    ]
    context = click.Context(root, info_name="penstock")
    for name in sorted(COMMANDS):
        command = root.get_command(context, name)
        assert command is not None, name
        lines += _command(command, f"penstock {name}", 2)
    return "\n".join(lines).rstrip() + "\n"


SHARED = {"bootstrap_servers", "command_config", "timeout_s", "as_json"}


def _command(command: click.Command, path: str, depth: int) -> Iterator[str]:
    yield f"{'#' * depth} {path}"
    yield ""
    for paragraph in (command.help or "").replace("\b", "").strip().split("\n\n"):
        yield from textwrap.wrap(" ".join(paragraph.split()), WIDTH, break_on_hyphens=False)
        yield ""
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None, name
            yield from _command(child, f"{path} {name}", min(depth + 1, 4))
        return
    words = [
        f"`{each.make_metavar(click.Context(command))}`"
        for each in command.params
        if isinstance(each, click.Argument)
    ]
    if words:
        yield f"Arguments: {', '.join(words)}."
        yield ""
    options = [each for each in command.params if isinstance(each, click.Option) and each.name not in SHARED]
    if options:
        yield "| option | meaning |"
        yield "|---|---|"
        for option in options:
            names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
            text = " ".join((option.help or "").split()).replace("|", "\\|")
            yield f"| {names} | {text} |"
        yield ""


def protocol_page() -> str:
    """Every request that a broker understands, with its versions."""
    lines = [
        "# Requests of the protocol",
        "",
        "Written from the code by `python docs/references.py`. A broker understands these requests of",
        "Kafka's protocol, in these versions; `kafka-broker-api-versions` asks a running one.",
        "",
        "| key | request | versions |",
        "|---|---|---|",
    ]
    for api, handler in sorted(HANDLERS.items(), key=lambda item: int(item[0])):
        oldest, newest = handler.VERSIONS
        name = "".join(word.capitalize() for word in api.name.split("_"))
        lines.append(f"| {int(api)} | {name} | {oldest}–{newest} |")
    return "\n".join(lines) + "\n"


METRICS = {
    "A broker": families(),
    "A mirror": counting.FAMILIES,
    "A pipeline": pipelines.FAMILIES,
    "Kafka Streams' names": streams.FAMILIES,
    "Kafka Connect's names": connect.FAMILIES,
    "The SQL server": persistent.FAMILIES,
    "An HTTP service": web_metrics.FAMILIES,
    "Consumer groups": lag_metrics.FAMILIES,
}
"""What stands in the table of each section of docs/metrics.md."""


def metrics_page() -> str:
    """The page as it is, with the table of each section written anew."""
    title, out, table = "", list[str](), False
    for line in (HERE / "metrics.md").read_text(encoding="utf-8").splitlines():
        title = line.removeprefix("## ") if line.startswith("## ") else title
        if line == METRICS_HEAD[0] and title in METRICS:
            out += [*METRICS_HEAD, *map(_metric, METRICS[title])]
        table = line == METRICS_HEAD[0] or (table and line.startswith("|"))
        if not table or title not in METRICS:
            out.append(line)
    return "\n".join(out) + "\n"


METRICS_HEAD = ("| name | kind | labels | meaning |", "|---|---|---|---|")


def _metric(family: Family) -> str:
    labels = ", ".join(f"`{label}`" for label in family.labels)
    return f"| `{family.name}` | {family.kind} | {labels} | {family.help} |"


PAGES = {"cli.md": cli_page, "protocol.md": protocol_page, "metrics.md": metrics_page}


def write() -> None:
    """Only what has changed: mkdocs watches the files."""
    for name, page in PAGES.items():
        path, text = HERE / name, page()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def on_pre_build(config: object) -> None:
    """What mkdocs calls."""
    write()


def main() -> int:
    write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
