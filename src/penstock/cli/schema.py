"""`penstock schema list|get|register|check|delete`: a registry from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import click

from penstock.cli import profiles
from penstock.cli.options import Command
from penstock.cli.output import print_json, print_table
from penstock.cli.service_access import ServiceAddress, service_options
from penstock.client.errors import ClientError
from penstock.client.schema_registry import RegistryError, SchemaRegistry

TYPES = click.Choice(["AVRO", "JSON", "PROTOBUF"], case_sensitive=False)
SUFFIXES = {".avsc": "AVRO", ".proto": "PROTOBUF", ".json": "JSON"}


def registry_options(command: Command) -> Command:
    command = click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")(command)
    url = click.option(
        "--registry", "url", default=profiles.registry_url, show_default="of the profile in use, else "
        + profiles.DEFAULT_REGISTRY, metavar="URL", help="Address of the registry.",
    )  # fmt: skip
    return service_options(url, command)


file_options = click.option(
    "--type", "schema_type", type=TYPES, help="[default: by the name: .avsc, .json, .proto; else AVRO]"
)


@click.group()
def schema() -> None:
    """List, read, register, check and delete schemas."""


@schema.command("list")
@click.option("--prefix", default="", help="Subjects that begin with this only.")
@click.option("--deleted", is_flag=True, help="Deleted ones as well.")
@registry_options
def list_schemas(prefix: str, deleted: bool, service: ServiceAddress, as_json: bool) -> None:
    """List the subjects with their latest versions."""
    query = {"latestOnly": "true", "deleted": str(deleted).lower(), "subjectPrefix": prefix}
    found = _ask(service, "GET", f"/schemas?{urlencode(query)}", "the schemas")
    if as_json:
        for each in found:
            print_json(each)
        return
    rows = [(s["subject"], s["version"], s["id"], s.get("schemaType", "AVRO")) for s in found]
    print_table("Schemas", ("Subject", "Version", "Id", "Type"), rows)


@schema.command()
@click.argument("subject")
@click.option("--version", default="latest", show_default=True, metavar="NUMBER")
@registry_options
def get(subject: str, version: str, service: ServiceAddress, as_json: bool) -> None:
    """Print a version of a subject."""
    path = f"/subjects/{quote(subject, safe='')}/versions/{quote(version, safe='')}"
    found = _ask(service, "GET", path, f"version {version} of {subject!r}")
    if as_json:
        print_json(found)
    else:
        click.echo(found["schema"].rstrip("\n"))


@schema.command()
@click.argument("subject")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@file_options
@click.option("--normalize", is_flag=True, help="Bring the schema into its normal form first.")
@registry_options
def register(
    subject: str, file: Path, schema_type: str | None, normalize: bool, service: ServiceAddress, as_json: bool
) -> None:
    """Register the schema in a file under a subject."""
    path = f"/subjects/{quote(subject, safe='')}/versions?normalize={str(normalize).lower()}"
    found = _ask(service, "POST", path, f"registering under {subject!r}", _body(file, schema_type))
    if as_json:
        print_json(found)
    else:
        click.echo(f"{subject} version {found['version']} has id {found['id']}")


@schema.command()
@click.argument("subject")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@file_options
@registry_options
def check(subject: str, file: Path, schema_type: str | None, service: ServiceAddress, as_json: bool) -> None:
    """Say whether the schema in a file could be registered, and why not. Ends with 1 when it could not."""
    path = f"/compatibility/subjects/{quote(subject, safe='')}/versions?verbose=true"
    found = _ask(service, "POST", path, f"checking against {subject!r}", _body(file, schema_type))
    if as_json:
        print_json(found)
    elif found["is_compatible"]:
        click.echo("compatible")
    else:
        click.echo("\n".join(["incompatible", *found["messages"]]))
    if not found["is_compatible"]:
        raise click.exceptions.Exit(1)


@schema.command()
@click.argument("subject")
@click.option("--version", metavar="NUMBER", help="One version only.")
@click.option("--permanent", is_flag=True, help="For good; it must have been deleted before.")
@registry_options
def delete(
    subject: str, version: str | None, permanent: bool, service: ServiceAddress, as_json: bool
) -> None:
    """Delete a subject, or one version of it."""
    path = f"/subjects/{quote(subject, safe='')}" + (
        f"/versions/{quote(version, safe='')}" if version else ""
    )
    found = _ask(service, "DELETE", f"{path}?permanent={str(permanent).lower()}", f"deleting {subject!r}")
    versions = found if isinstance(found, list) else [found]
    if as_json:
        print_json({"subject": subject, "versions": versions})
    else:
        click.echo(f"{subject} version {', '.join(map(str, versions))} deleted")


def _ask(service: ServiceAddress, method: str, path: str, what: str, body: Any = None) -> Any:
    try:
        access = service.access
        registry = SchemaRegistry(service.url, authorization=access.authorization, tls=access.tls)
        return registry.ask(method, path, what, body)
    except (RegistryError, ValueError) as error:
        raise ClientError(f"{str(error)[:1].upper()}{str(error)[1:]}.") from error


def _body(file: Path, schema_type: str | None) -> dict[str, str]:
    chosen = schema_type.upper() if schema_type else SUFFIXES.get(file.suffix, "AVRO")
    return {"schema": file.read_text(), "schemaType": chosen}
