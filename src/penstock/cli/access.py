"""How a command reaches its cluster: addresses, patience, and the settings of `--command-config`.

`admin`, `messages` and the others make the client that a command needs. The first of them opens one
connection of our own: bad credentials are an error at once, and not after the whole time of `--timeout`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from penstock.client.admin import Admin
    from penstock.client.messages import Messages
    from penstock.client.transactions import Transactions
    from penstock.streams.resetting import Applications

_LIBRARY_NAMES: Final = ("sasl.username", "sasl.mechanisms", "ssl.ca.location", "sasl.oauthbearer.method")
"""Settings that librdkafka's users write and Java does not know."""


@dataclass
class Access:
    """What the options of a command say about its cluster."""

    bootstrap_servers: str
    timeout_s: float
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def settings(self) -> dict[str, str]:
        """Security settings and the client's name; a properties file of a consumer has more, for others."""
        return {
            name: value
            for name, value in self.properties.items()
            if name.startswith(("security.", "ssl.", "sasl.")) or name == "client.id"
        }

    def admin(self) -> Admin:
        from penstock.client.admin import Admin
        from penstock.client.direct import check_access

        self._check_settings()
        found = Admin(self.bootstrap_servers, timeout_s=self.timeout_s, settings=self.settings)
        check_access(found.connection)
        return found

    def _check_settings(self) -> None:
        """What is missing or cannot be honoured, in our words; librdkafka's own names it checks itself."""
        from penstock.client.errors import InvalidValue
        from penstock.security.client_settings import ClientSettings, ClientSettingsError

        if any(name in self.properties for name in _LIBRARY_NAMES):
            return
        try:
            ClientSettings.from_properties(self.properties)
        except ClientSettingsError as error:
            raise InvalidValue(f"{error}.") from None

    def messages(self, isolation_level: str = "read_uncommitted") -> Messages:
        from penstock.client.messages import Messages

        return Messages(
            self.bootstrap_servers,
            timeout_s=self.timeout_s,
            isolation_level=isolation_level,
            settings=self.settings,
            admin=self.admin(),
        )

    def transactions(self) -> Transactions:
        from penstock.client.transactions import Transactions

        self.admin()
        return Transactions(self.bootstrap_servers, timeout_s=self.timeout_s, settings=self.settings)

    def applications(self) -> Applications:
        from penstock.streams.resetting import Applications

        self.admin()
        return Applications(self.bootstrap_servers, timeout_s=self.timeout_s, settings=self.settings)
