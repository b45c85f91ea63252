"""Requests of Kafka's commands to a cluster, over our own connections (`penstock.wire`).

An error code of the broker becomes a `Refused` whose text is the broker's own, or Kafka's text of the code.
`penstock.wire` is imported when the first request is sent, so that `--help` stays quick.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from penstock.cli.kafka.error_texts import ERROR_TEXTS
from penstock.cli.kafka.options import CommandFailed

if TYPE_CHECKING:
    from penstock.protocol.apis import Api
    from penstock.wire.connection import Connection
    from penstock.wire.coordinators import Kind
    from penstock.wire.deadline import Deadline

TIMEOUT_MS: Final = "60000"
Versions = tuple[int, int]
_OTHER_NAMES: Final = {
    "NON_EMPTY_GROUP": "GroupNotEmpty",
    "TOPIC_AUTHORIZATION_FAILED": "TopicAuthorization",
    "GROUP_AUTHORIZATION_FAILED": "GroupAuthorization",
    "KAFKA_STORAGE_ERROR": "KafkaStorage",
}
"""Exceptions of Java that are not named as their codes are."""


class Refused(CommandFailed):
    """The broker answered with an error code; `name` is Kafka's name of it."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name

    @property
    def java_class(self) -> str:
        """The class of the exception that Java would have thrown, which Kafka prints."""
        name = _OTHER_NAMES.get(self.name) or "".join(word.capitalize() for word in self.name.split("_"))
        return f"org.apache.kafka.common.errors.{name}Exception"


class NoAnswer(CommandFailed):
    """No broker answered in time, or none that understood the request."""


class Asker:
    """Asks a cluster. Opens nothing before the first request."""

    def __init__(self, bootstrap_servers: str, properties: Mapping[str, str] | None = None) -> None:
        """`properties` are those of a client's file; addresses that are given beside them win."""
        from penstock.security.client_settings import ClientSettings, ClientSettingsError
        from penstock.wire.cluster import Cluster

        properties = properties or {}
        self._seconds = int(properties.get("default.api.timeout.ms", TIMEOUT_MS)) / 1000
        try:
            settings = ClientSettings.from_properties(properties, bootstrap_servers=bootstrap_servers)
            self.cluster = Cluster.of(settings)
        except (ClientSettingsError, ValueError) as error:
            raise CommandFailed(str(error)) from None
        self._warned = False

    @property
    def deadline(self) -> Deadline:
        """A new one; each request of a command has its own."""
        from penstock.wire.deadline import Deadline

        return Deadline(self._seconds)

    def any(self, api: Api, fields: Mapping[str, Any], versions: Versions) -> Any:
        """The answer of whichever broker is reached first."""

        def attempt(deadline: Deadline) -> Any:
            with self.cluster.any_connection(deadline) as connection:
                return _call(connection, api, fields, versions, deadline)

        return self.asked(api, attempt)

    def broker(self, node_id: int, api: Api, fields: Mapping[str, Any], versions: Versions) -> Any:
        """The answer of one broker."""

        def attempt(deadline: Deadline) -> Any:
            with self.cluster.connection(node_id, deadline) as connection:
                return _call(connection, api, fields, versions, deadline)

        return self.asked(api, attempt)

    def coordinator(
        self, kind: Kind, key: str, api: Api, fields: Mapping[str, Any], versions: Versions
    ) -> Any:
        """The answer of the broker that coordinates a group or a transactional id."""
        from penstock.protocol.errors import ErrorCode
        from penstock.wire.coordinators import Coordinator
        from penstock.wire.errors import Refused as WireRefused
        from penstock.wire.errors import error_code

        passing = (
            ErrorCode.NOT_COORDINATOR,
            ErrorCode.COORDINATOR_NOT_AVAILABLE,
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
            ErrorCode.CONCURRENT_TRANSACTIONS,
        )

        def attempt(deadline: Deadline) -> Any:
            def request(connection: Connection) -> Any:
                answer = _call(connection, api, fields, versions, deadline)
                code = error_code(getattr(answer, "error_code", 0))
                if code in passing:
                    raise WireRefused(code, text_of(code.name))
                return answer

            return Coordinator(self.cluster, kind, key).ask(api.name, request, deadline)

        return self.asked(api, attempt)

    def topic_names(self) -> list[str]:
        return sorted(self.topics(None))

    def topic_ids(self) -> dict[str, str]:
        """The id of each topic, as Kafka writes ids."""
        return {name: id_text(info.topic_id) for name, info in self.topics(None).items()}

    def topics(self, names: Collection[str] | None) -> dict[str, Any]:
        """The named topics with their partitions, or all; topics that do not exist are left out."""
        from penstock.protocol.apis import Api

        return self.asked(Api.METADATA, lambda deadline: self.cluster.topics(names, deadline))

    def brokers(self) -> list[int]:
        """The ids of all brokers, whose addresses are known from then on."""
        return list(self.nodes())

    def nodes(self) -> dict[int, Any]:
        """Every broker: id, host, port and rack."""
        from penstock.protocol.apis import Api

        self.asked(Api.METADATA, self.cluster.brokers)
        answer = self.any(Api.DESCRIBE_CLUSTER, {"include_cluster_authorized_operations": False}, (0, 0))
        check(answer)
        return {broker.broker_id: broker for broker in sorted(answer.brokers, key=lambda one: one.broker_id)}

    def asked(self, api: Api, attempt: Any) -> Any:
        """The result of `attempt`, which is given a deadline; it is tried again while the cluster changes."""
        from penstock.wire.deadline import retrying
        from penstock.wire.errors import DeadlineExceeded, Unsupported, WireError
        from penstock.wire.errors import Refused as WireRefused

        deadline = self.deadline
        try:
            return retrying(deadline, api.name, lambda: attempt(deadline), self._warn)
        except WireRefused as error:
            raise Refused(error.code.name, str(error)) from error
        except DeadlineExceeded as error:
            call = "".join(word.capitalize() for word in api.name.split("_"))
            call = call[0].lower() + call[1:]
            raise NoAnswer(f"Timed out waiting for a node assignment. Call: {call}") from error
        except Unsupported as error:
            raise NoAnswer(f"The broker does not support {api.name}: {error}") from error
        except WireError as error:
            raise NoAnswer(str(error)) from error

    def _warn(self, error: Exception) -> None:
        """One line while the command waits: silence for a minute would look like a hang."""
        if not self._warned:
            self._warned = True
            print(f"WARN {error}. Trying again.", file=sys.stderr)


def _call(
    connection: Connection, api: Api, fields: Mapping[str, Any], versions: Versions, deadline: Deadline
) -> Any:
    return connection.call(api, fields, deadline, oldest=versions[0], newest=versions[1])


def id_text(topic_id: bytes) -> str:
    """An id as Kafka writes it: base64 for addresses, without padding."""
    return base64.urlsafe_b64encode(topic_id).decode().rstrip("=")


def text_of(name: str) -> str:
    """Kafka's text of an error code."""
    return ERROR_TEXTS.get(name, f"The broker answered {name}.")


def check(answer: Any) -> None:
    """Raises `Refused` when the answer, or the part of one, carries an error."""
    refused = refusal(answer)
    if refused is not None:
        raise refused


def refusal(answer: Any) -> Refused | None:
    """The error that an answer carries."""
    number = int(answer.error_code)
    if number == 0:
        return None
    from penstock.wire.errors import error_code

    name = error_code(number).name
    return Refused(name, getattr(answer, "error_message", None) or text_of(name))
