"""The binding: settings that all our librdkafka clients share, and the reason a connection failed.

Only this package's modules call it. `confluent_kafka` is imported inside functions, so that `penstock --help`
does not load a C library.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from penstock.client.errors import ClientError, InvalidValue, NotAuthenticated, translate
from penstock.client.secured import library_settings

GROUP_ID = "penstock-client"
"""The binding wants a group id even for assigned partitions; nothing is ever committed under it."""

ERRORS_KEPT = 8


def admin_binding() -> Any:
    """The module `confluent_kafka.admin`, untyped: it does not export what its own documentation uses."""
    import confluent_kafka.admin

    return confluent_kafka.admin


class Connection:
    """Addresses, deadline and extra librdkafka settings of one client, and what its connections complained of
    last.
    """

    def __init__(
        self, bootstrap_servers: str, timeout_s: float, settings: Mapping[str, Any] | None = None
    ) -> None:
        if not bootstrap_servers.strip():
            raise InvalidValue("The bootstrap servers are empty. Give at least one address as HOST:PORT.")
        self.bootstrap_servers = bootstrap_servers
        self.timeout_s = timeout_s
        self.given = dict(settings or {})
        """What the user set, under librdkafka's names or Java's."""
        self.extra = library_settings(self.given)
        """The same, under librdkafka's names."""
        self._refusal = ""
        self._complaints: deque[str] = deque(maxlen=ERRORS_KEPT)

    def settings(self, **own: Any) -> dict[str, Any]:
        """librdkafka settings: ours, then the ones of the role (underscores for dots), then the user's."""
        shared: dict[str, Any] = {
            "bootstrap.servers": self.bootstrap_servers,
            "client.id": "penstock",
            "log_level": 2,  # what fails is raised as an exception, so the library need not print it as well
            "error_cb": self._on_error,
            "reconnect.backoff.ms": 50,
            "reconnect.backoff.max.ms": 1000,  # a broker that comes back is found within a second
            "socket.connection.setup.timeout.ms": 5000,
            "topic.metadata.refresh.sparse": True,
        }
        return shared | {name.replace("_", "."): value for name, value in own.items()} | self.extra

    def consumer_settings(self, **own: Any) -> dict[str, Any]:
        shared = {
            "group_id": GROUP_ID,
            "enable_auto_commit": False,
            "enable_auto_offset_store": False,
            "allow_auto_create_topics": False,
            "auto_offset_reset": "earliest",
        }
        return self.settings(**(shared | own))

    def error(self, error: Any, doing: str, topic: str | None = None) -> ClientError:
        """The exception for a librdkafka error, with the last complaint of a connection as its reason."""
        if self._refusal:
            return NotAuthenticated(self.bootstrap_servers, self._refusal)
        return translate(
            error,
            doing=doing,
            topic=topic,
            bootstrap_servers=self.bootstrap_servers,
            timeout_s=self.timeout_s,
            reason=self.reason,
        )

    @property
    def reason(self) -> str:
        """What a connection complained of last, such as 'Connection refused'; empty when nothing did."""
        return self._complaints[-1] if self._complaints else ""

    def _on_error(self, error: Any) -> None:
        if error.name() in ("_SSL", "_AUTHENTICATION"):
            self._refusal = _core_of(error.str())
        if error.name() in ("_TRANSPORT", "_RESOLVE", "_SSL", "_AUTHENTICATION"):
            self._complaints.append(_core_of(error.str()))


def _core_of(complaint: str) -> str:
    """librdkafka's 'a:1/b: Connect to ipv4#127.0.0.1:1 failed: Connection refused (after 0ms …)', cut to its
    core.
    """
    return complaint.split(" (after ")[0].rsplit(": ", 1)[-1].strip()
