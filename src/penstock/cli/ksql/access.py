"""How the shell and `ksql-migrations` come to a server: name and password, and what is trusted."""

from __future__ import annotations

from collections.abc import Mapping

import click

from penstock.cli.ksql.requests import Server
from penstock.cli.service_access import service_access
from penstock.client.schema_registry import basic


def server_at(url: str, user: str | None, password: str | None, settings: Mapping[str, str]) -> Server:
    """`settings` are those of a client: `ssl.truststore.location`, and its login where no user is named."""
    from penstock.wire.tls import client_context

    access = service_access(settings)
    if user is not None and password is None:
        password = click.prompt("Password", hide_input=True, err=True)
    authorization = access.authorization if user is None else basic(user, password or "")
    return Server(url, authorization, None if access.tls is None else client_context(access.tls))
