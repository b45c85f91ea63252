"""How the shell and `ksql-migrations` come to a server: name and password, and what is trusted."""

from __future__ import annotations

from collections.abc import Mapping

import click

from penstock.cli.ksql.requests import Server
from penstock.client.schema_registry import basic


def server_at(url: str, user: str | None, password: str | None, settings: Mapping[str, str]) -> Server:
    """`settings` are those of a client: `ssl.truststore.location` and so on."""
    from penstock.security.client_settings import ClientSettings, ClientSettingsError
    from penstock.wire.tls import client_context

    if user is not None and password is None:
        password = click.prompt("Password", hide_input=True, err=True)
    authorization = "" if user is None else basic(user, password or "")
    tls = {name: text for name, text in settings.items() if name.startswith("ssl.")}
    if not tls:
        return Server(url, authorization)
    try:
        found = ClientSettings.from_properties({**tls, "security.protocol": "SSL"}).tls
    except ClientSettingsError as error:
        raise click.ClickException(f"{error}.") from error
    return Server(url, authorization, None if found is None else client_context(found))
