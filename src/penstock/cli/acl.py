"""`penstock acl grant|revoke|list|check`: who may do what."""

from __future__ import annotations

from typing import Any

import click

from penstock.cli.access import Access
from penstock.cli.acl_words import (
    entries_of,
    find_resource,
    operation_named,
    principal_named,
    resource_options,
)
from penstock.cli.options import client_options
from penstock.cli.output import print_json, print_table
from penstock.client.acl_checking import Question
from penstock.client.acl_checking import check as check_question
from penstock.client.acls import Acl, Acls
from penstock.security.operations import ResourceType

COLUMNS = ("Principal", "Permission", "Operation", "Resource", "Name", "Pattern", "Host")


@click.group()
def acl() -> None:
    """Grant and revoke rights, list them, and find out why a request is allowed or denied."""


change_options = (
    click.argument("principal"),
    click.argument("operations", nargs=-1, metavar="[OPERATION]…"),
    click.option("--producer", is_flag=True, help="What producers need: write, describe and create."),
    click.option("--consumer", is_flag=True, help="What consumers need: read and describe; read the group."),
    click.option("--deny", is_flag=True, help="A denial, which beats every permission."),
    click.option("--host", default="*", show_default=True, help="The address of the client."),
)


def changing(command: Any) -> Any:
    for option in reversed((*change_options, resource_options, client_options)):
        command = option(command)
    return command


@acl.command()
@changing
def grant(access: Access, as_json: bool, **words: Any) -> None:
    """Let PRINCIPAL (alice, or User:alice, or '*') do OPERATIONs with the resources that the options name.

    penstock acl grant alice read describe --topic orders

    penstock acl grant alice --producer --topic orders- --prefix
    """
    entries = entries_of(**words)
    Acls(access.admin()).create(entries)
    _print("Granted", entries, as_json)


@acl.command()
@changing
def revoke(access: Access, as_json: bool, **words: Any) -> None:
    """Take back what `grant` with the same words gave. Without OPERATIONs, everything that PRINCIPAL has
    there."""
    acls = Acls(access.admin())
    wanted = entries_of(**words, all_when_none=True)
    gone = [entry for each in wanted for entry in acls.delete(each)]
    _print("Revoked", gone, as_json)
    if not gone:
        raise click.ClickException("No entry is like this; `penstock acl list` shows those there are.")


@acl.command("list")
@click.option("--principal", help="Only entries of this principal.")
@resource_options
@click.option("--matching", is_flag=True, help="Prefixes and '*' that cover the name as well.")
@client_options
def list_acls(
    principal: str | None, prefix: bool, matching: bool, access: Access, as_json: bool, **names: Any
) -> None:
    """List access control entries."""
    resource = find_resource(names)
    wanted = Acl(principal=None if principal is None else str(principal_named(principal)))
    if resource is not None:
        pattern = "MATCH" if matching else "PREFIXED" if prefix else "LITERAL"
        wanted = wanted._replace(
            resource_type=resource.kind.name, resource_name=resource.name, pattern_type=pattern
        )
    _print("Access control entries", Acls(access.admin()).describe(wanted), as_json)


@acl.command()
@click.argument("principal")
@click.argument("operation")
@resource_options
@click.option("--host", default="127.0.0.1", show_default=True, help="The address of the client.")
@client_options
def check(
    principal: str, operation: str, prefix: bool, host: str, access: Access, as_json: bool, **names: Any
) -> None:
    """Say whether PRINCIPAL may do OPERATION with a resource, and which entry or rule decides. Ends with 1
    when it may not."""
    resource = find_resource(names)
    if resource is None:
        raise click.UsageError("Name a resource: --topic, --group, --cluster, --transactional-id or --user.")
    if prefix:
        raise click.UsageError("--prefix makes no sense here: a request names one resource.")
    kind = operation_named(operation, resource.kind)
    question = Question(principal_named(principal), host, kind, resource.kind, resource.name)
    verdict = check_question(access.admin(), question)
    if as_json:
        entry = None if verdict.entry is None else verdict.entry._asdict()
        print_json({"allowed": verdict.allowed, "why": verdict.why, "entry": entry})
    else:
        name = (
            "the cluster"
            if resource.kind == ResourceType.CLUSTER
            else f"{resource.kind.name.lower()} {resource.name}"
        )
        click.echo(
            f"{'allowed' if verdict.allowed else 'denied'}: {question.principal} {kind.name.lower()} {name} "
            f"from {host}"
        )
        click.echo(verdict.why)
        if verdict.entry is not None:
            _print("Entry", [verdict.entry], as_json)
    if not verdict.allowed:
        raise click.exceptions.Exit(1)


def _print(title: str, entries: list[Acl], as_json: bool) -> None:
    if as_json:
        for each in entries:
            print_json(each._asdict())
        return
    rows = [
        (
            each.principal,
            each.permission.lower(),
            each.operation.lower(),
            each.resource_type.lower(),
            each.resource_name,
            each.pattern_type.lower(),
            each.host,
        )
        for each in entries
    ]
    print_table(title, COLUMNS, rows)
