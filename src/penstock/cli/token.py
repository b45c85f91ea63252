"""`penstock token create|list|renew|expire`: delegation tokens, with which a program logs in for a user."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from penstock.cli.access import Access
from penstock.cli.acl_words import principal_named
from penstock.cli.options import client_options
from penstock.cli.output import print_json, print_table
from penstock.client.direct import Direct, check
from penstock.client.token_requests import (
    Ask,
    Token,
    create_token,
    describe_tokens,
    expire_token,
    renew_token,
)

HOUR_MS = 3_600_000

hmac_options = click.option(
    "--hmac-file",
    type=click.Path(exists=True, dir_okay=False, readable=True, path_type=Path),
    required=True,
    metavar="FILE",
    help="A file with the token's HMAC, as `create` printed it. It is a password, and so no option.",
)


@click.group()
def token() -> None:
    """Create, list, renew and expire delegation tokens."""


@token.command()
@click.option("--renewer", "renewers", multiple=True, metavar="PRINCIPAL", help="May be repeated.")
@click.option("--owner", metavar="PRINCIPAL", help="For another user. [default: yourself]")
@click.option(
    "--max-hours", type=click.FloatRange(min=0, min_open=True),
    help="How long it can live. [default: the broker's delegation.token.max.lifetime.ms]",
)  # fmt: skip
@client_options
def create(
    renewers: tuple[str, ...], owner: str | None, max_hours: float | None, access: Access, as_json: bool
) -> None:
    """Create a token and print it, with its HMAC, which is shown this once."""
    life_ms = -1 if max_hours is None else round(max_hours * HOUR_MS)
    named = [str(principal_named(each)) for each in renewers]
    whose = None if owner is None else str(principal_named(owner))
    made = create_token(_asking(access, "create a token"), named, life_ms, whose)
    hmac = base64.b64encode(made.hmac).decode()
    if as_json:
        print_json({**_fields(made), "hmac": hmac})
        return
    print_table("Token", ("Field", "Value"), [*_fields(made).items(), ("hmac", hmac)])
    click.echo("A client logs in with SCRAM: the id is the user, the HMAC the password, and tokenauth=true.")


@token.command("list")
@click.option("--owner", "owners", multiple=True, metavar="PRINCIPAL", help="May be repeated.")
@client_options
def list_tokens(owners: tuple[str, ...], access: Access, as_json: bool) -> None:
    """List the tokens that you may see. Their HMACs are not shown."""
    named = [str(principal_named(each)) for each in owners]
    found = describe_tokens(_asking(access, "list the tokens"), named)
    if as_json:
        for each in found:
            print_json(_fields(each))
        return
    columns = ("Token", "Owner", "Requester", "Renewers", "Issued", "Expires", "Ends for good")
    print_table("Tokens", columns, [tuple(_fields(each).values()) for each in found])


@token.command()
@hmac_options
@click.option("--hours", type=click.FloatRange(min=0, min_open=True), help="[default: the broker's]")
@client_options
def renew(hmac_file: Path, hours: float | None, access: Access, as_json: bool) -> None:
    """Let a token live longer."""
    period_ms = -1 if hours is None else round(hours * HOUR_MS)
    _report(renew_token(_asking(access, "renew the token"), _hmac(hmac_file), period_ms), "renewed", as_json)


@token.command()
@hmac_options
@click.option("--hours", type=click.FloatRange(min=0), help="[default: at once]")
@client_options
def expire(hmac_file: Path, hours: float | None, access: Access, as_json: bool) -> None:
    """End a token, now or later."""
    period_ms = -1 if hours is None else round(hours * HOUR_MS)
    _report(expire_token(_asking(access, "end the token"), _hmac(hmac_file), period_ms), "expired", as_json)


def _asking(access: Access, doing: str) -> Ask:
    direct = Direct(access.admin().connection)

    def ask(api: Any, fields: Mapping[str, Any], versions: tuple[int, int]) -> Any:
        answer = direct.ask(api, dict(fields), versions)
        check(answer, doing)
        return answer

    return ask


def _hmac(path: Path) -> bytes:
    try:
        return base64.b64decode(path.read_text(encoding="ascii").strip(), validate=True)
    except (binascii.Error, UnicodeDecodeError):
        raise click.ClickException(f"{path} holds no HMAC in base 64.") from None


def _fields(found: Token) -> dict[str, Any]:
    return {
        "token_id": found.token_id,
        "owner": found.owner,
        "requester": found.requester,
        "renewers": ", ".join(found.renewers),
        "issued": _moment(found.issued_ms),
        "expires": _moment(found.expiry_ms),
        "ends": _moment(found.end_ms),
    }


def _moment(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="seconds")


def _report(expiry_ms: int, what: str, as_json: bool) -> None:
    moment = _moment(expiry_ms)
    if as_json:
        print_json({"done": what, "expires": moment})
    else:
        click.echo(f"{what}: it ends at {moment}")
