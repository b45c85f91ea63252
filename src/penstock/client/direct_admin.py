"""Java's `Admin` with librdkafka's names of settings: for services that have one set of settings and need
requests that librdkafka cannot send. Called by the console's backend.
"""

from __future__ import annotations

from penstock.client.api.admin.client import Admin
from penstock.client.direct import cluster_of
from penstock.client.librdkafka import Connection


class DirectAdmin(Admin):
    def __init__(self, connection: Connection) -> None:
        milliseconds = int(connection.timeout_s * 1000)
        super().__init__(
            {"bootstrap.servers": connection.bootstrap_servers, "default.api.timeout.ms": milliseconds,
             "request.timeout.ms": milliseconds}
        )  # fmt: skip
        self._cluster = cluster_of(connection)
