"""How a command comes to a registry or a worker behind a login: `--command-config` with Confluent's names, or
with the name and password of a Kafka client, which the services hand to the broker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import click

from penstock.cli import profiles

if TYPE_CHECKING:
    from penstock.client.registry_access import RegistryAccess

Command = TypeVar("Command", bound=Callable[..., Any])


class ServiceAddress(NamedTuple):
    url: str
    access: RegistryAccess


def service_options(option: Callable[[Any], Any], command: Command) -> Command:
    """`option` gives the command its `url`. The command gets a `ServiceAddress` named `service`."""

    @wraps(command)
    def with_access(url: str, command_config: str | None, **others: Any) -> Any:
        from penstock.settings.sources import read_properties

        properties = read_properties(command_config) if command_config else profiles.properties()
        return command(service=ServiceAddress(url, service_access(properties)), **others)

    config = click.option(
        "--command-config",
        type=click.Path(exists=True, dir_okay=False, readable=True),
        metavar="FILE",
        help="Settings as a properties file: basic.auth.user.info or sasl.jaas.config, ssl.truststore.…",
    )
    return cast(Command, option(config(with_access)))


def service_access(properties: Mapping[str, str]) -> RegistryAccess:
    from penstock.client.errors import InvalidValue
    from penstock.client.registry_access import RegistryAccess, take_registry_access
    from penstock.client.schema_registry import basic
    from penstock.security.client_settings import ClientSettings, ClientSettingsError
    from penstock.settings.errors import SettingError

    try:
        found, _ = take_registry_access(properties, "")
        if found.authorization or "sasl.jaas.config" not in properties:
            return found
        sasl = ClientSettings.from_properties(properties).sasl
    except (SettingError, ClientSettingsError) as error:
        raise InvalidValue(f"{error}.") from None
    if sasl is None or not sasl.username:
        return found
    return RegistryAccess(basic(sasl.username, sasl.password), found.tls)
