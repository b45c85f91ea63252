"""`penstock connector …`: the connectors of a worker from the command line."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

import click

from penstock.cli.options import Command
from penstock.cli.output import print_json, print_table
from penstock.cli.service_access import ServiceAddress, service_options
from penstock.client.errors import ClientError
from penstock.wire.direct_http import open_direct
from penstock.wire.tls import client_context

PATIENCE_S: Final = 120.0


class ConnectRefused(ClientError):
    """A worker refuses what it was asked for."""

    code = "connect_refused"


def worker_options(command: Command) -> Command:
    command = click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)
    url = click.option(
        "--connect", "url", default="http://127.0.0.1:8083", show_default=True, metavar="URL",
        help="Address of a worker.",
    )  # fmt: skip
    return service_options(url, command)


@click.group()
def connector() -> None:
    """Create, check, watch, pause, restart and delete connectors."""


@connector.command("list")
@worker_options
def list_connectors(service: ServiceAddress, as_json: bool) -> None:
    """List the connectors with the states of their tasks."""
    found = ask(service, "GET", "/connectors?expand=status")
    if as_json:
        print_json(found)
        return
    rows = []
    for name, each in sorted(found.items()):
        status = each["status"]
        tasks = ", ".join(task["state"] for task in status["tasks"])
        rows.append((name, status["type"], status["connector"]["state"], tasks or None))
    print_table("Connectors", ("Connector", "Type", "State", "Tasks"), rows)


@connector.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--name", default=None, help="[default: the name in the file]")
@worker_options
def create(file: str, name: str | None, service: ServiceAddress, as_json: bool) -> None:
    """Create a connector from a file (.properties, or .json), or change the one of that name."""
    config = _file(file)
    name = name or config.get("name")
    if not name:
        raise ConnectRefused(f"{file} has no name: give one with --name")
    made = ask(service, "PUT", f"/connectors/{quote(name, safe='')}/config", {**config, "name": name})
    _say(made, f"{made['name']} is a {made['type']}", as_json)


@connector.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@worker_options
def validate(file: str, service: ServiceAddress, as_json: bool) -> None:
    """Print every mistake of a configuration; nothing is created."""
    config = _file(file)
    kind = config.get("connector.class", "").rpartition(".")[2]
    found = ask(service, "PUT", f"/connector-plugins/{quote(kind, safe='')}/config/validate", config)
    if as_json:
        print_json(found)
    else:
        for each in found["configs"]:
            for error in each["value"]["errors"]:
                click.echo(f"{each['value']['name']}\t{error}")
    if found["error_count"]:
        raise click.exceptions.Exit(1)


@connector.command()
@click.argument("name")
@worker_options
def status(name: str, service: ServiceAddress, as_json: bool) -> None:
    """Show how a connector and its tasks are, with what has failed."""
    found = ask(service, "GET", f"/connectors/{quote(name, safe='')}/status")
    if as_json:
        print_json(found)
        return
    rows = [("connector", found["connector"]["state"], found["connector"]["worker_id"])]
    rows += [(f"task {each['id']}", each["state"], each["worker_id"]) for each in found["tasks"]]
    print_table(name, ("Part", "State", "Worker"), rows)
    for each in (found["connector"], *found["tasks"]):
        if each.get("trace"):
            click.echo(each["trace"].rstrip())


@connector.command()
@click.argument("name")
@worker_options
def pause(name: str, service: ServiceAddress, as_json: bool) -> None:
    """Pause a connector; its tasks are kept."""
    _told(service, "PUT", f"/connectors/{quote(name, safe='')}/pause", f"{name} pauses", as_json)


@connector.command()
@click.argument("name")
@worker_options
def resume(name: str, service: ServiceAddress, as_json: bool) -> None:
    """Let a connector that is paused or stopped go on."""
    _told(service, "PUT", f"/connectors/{quote(name, safe='')}/resume", f"{name} goes on", as_json)


@connector.command()
@click.argument("name")
@worker_options
def stop(name: str, service: ServiceAddress, as_json: bool) -> None:
    """Stop a connector: its offsets may be changed then."""
    _told(service, "PUT", f"/connectors/{quote(name, safe='')}/stop", f"{name} stops", as_json)


@connector.command()
@click.argument("name")
@click.option("--task", "task", type=click.IntRange(min=0), default=None, help="This task only.")
@click.option("--only-failed", is_flag=True, help="Only what has failed.")
@worker_options
def restart(name: str, task: int | None, only_failed: bool, service: ServiceAddress, as_json: bool) -> None:
    """Start a connector and its tasks again."""
    path = f"/connectors/{quote(name, safe='')}"
    if task is None:
        path += f"/restart?includeTasks=true&onlyFailed={str(only_failed).lower()}"
    else:
        path += f"/tasks/{task}/restart"
    _told(service, "POST", path, f"{name} starts again", as_json)


@connector.command()
@click.argument("name")
@worker_options
@click.confirmation_option("--yes", prompt="It ends and is forgotten. Go on?")
def delete(name: str, service: ServiceAddress, as_json: bool) -> None:
    """End a connector and forget it; its topics and offsets stay."""
    _told(service, "DELETE", f"/connectors/{quote(name, safe='')}", f"{name} is deleted", as_json)


@connector.command()
@click.argument("name")
@click.option("--reset", is_flag=True, help="Begin anew: the connector must be stopped.")
@click.option(
    "--set", "file", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
    help='Go on at the offsets of a file, {"offsets": [{"partition": …, "offset": …}]}; it must be stopped.',
)  # fmt: skip
@worker_options
def offsets(name: str, reset: bool, file: str | None, service: ServiceAddress, as_json: bool) -> None:
    """Show where a connector is, or change it."""
    path = f"/connectors/{quote(name, safe='')}/offsets"
    if reset or file:
        wanted = None if reset else _json(file or "")
        found = ask(service, "DELETE" if reset else "PATCH", path, wanted)
        _say(found, found["message"], as_json)
        return
    found = ask(service, "GET", path)
    if as_json:
        print_json(found)
        return
    rows = [(json.dumps(each["partition"]), json.dumps(each["offset"])) for each in found["offsets"]]
    print_table(name, ("Partition", "Offset"), rows)


@connector.command()
@click.argument("name")
@click.option("--lines", type=click.IntRange(1, 1000), default=100, show_default=True)
@worker_options
def logs(name: str, lines: int, service: ServiceAddress, as_json: bool) -> None:
    """Print what a connector and its tasks have logged last."""
    for line in ask(service, "GET", f"/connectors/{quote(name, safe='')}/logs?lines={lines}"):
        if as_json:
            print_json(line)
        else:
            when = datetime.fromtimestamp(line["timestamp"] / 1000, UTC).isoformat(timespec="milliseconds")
            click.echo(f"{when} {line['level']} {line['message']}")


@connector.command()
@click.argument("name")
@worker_options
def redrive(name: str, service: ServiceAddress, as_json: bool) -> None:
    """Send the dead letters of a sink to their topics again; each is sent once."""
    found = ask(service, "POST", f"/connectors/{quote(name, safe='')}/redrive")
    _say(found, f"{found['redriven']} dead letters were sent again", as_json)


@connector.command()
@click.option("--all", "everything", is_flag=True, help="Converters, transforms and predicates, too.")
@worker_options
def plugins(everything: bool, service: ServiceAddress, as_json: bool) -> None:
    """List what can be configured, and what each connector guarantees."""
    found = ask(service, "GET", f"/connector-plugins?connectorsOnly={str(not everything).lower()}")
    if as_json:
        print_json(found)
        return
    rows = [(each["class"], each["type"], each["version"], each.get("guarantee")) for each in found]
    print_table("Plugins", ("Class", "Type", "Version", "Guarantee"), rows)


def ask(service: ServiceAddress, method: str, path: str, body: Any = None) -> Any:
    """The answer of a worker; ConnectRefused with its words."""
    data = None if body is None else json.dumps(body).encode()
    url, access = service
    headers = {"Content-Type": "application/json"}
    if access.authorization:
        headers["Authorization"] = access.authorization
    request = urllib.request.Request(url.rstrip("/") + path, data=data, method=method, headers=headers)
    context = None if access.tls is None else client_context(access.tls)
    try:
        with open_direct(request, PATIENCE_S, context) as answer:
            text = answer.read()
    except urllib.error.HTTPError as refused:
        raise ConnectRefused(_message(refused.read())) from None
    except OSError as error:
        raise ConnectRefused(f"No worker answers at {url}: {getattr(error, 'reason', error)}") from None
    return json.loads(text) if text else None


def _message(text: bytes) -> str:
    try:
        return str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError):
        return text.decode(errors="replace")


def _told(service: ServiceAddress, method: str, path: str, sentence: str, as_json: bool) -> None:
    _say(ask(service, method, path), sentence, as_json)


def _say(found: Any, sentence: str, as_json: bool) -> None:
    if as_json:
        print_json(found)
    else:
        click.echo(sentence)


def _file(path: str) -> dict[str, str]:
    from penstock.connect.errors import ConnectError
    from penstock.connect.main import read_connector_file

    try:
        return read_connector_file(path)
    except ConnectError as error:
        raise ConnectRefused(str(error)) from None


def _json(path: str) -> Any:
    with open(path, encoding="utf-8") as file:
        try:
            return json.load(file)
        except ValueError as error:
            raise ConnectRefused(f"{path} is not JSON: {error}") from None
