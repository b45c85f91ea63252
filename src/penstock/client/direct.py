"""Requests that librdkafka cannot send, by our own connection, secured as librdkafka's settings say.

Called by `cluster_defaults`, `acls` and `reassignments`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from penstock.client import errors
from penstock.client.errors import INVALID, BrokerRefused, BrokerUnreachable, ClientError, InvalidValue
from penstock.client.secured import is_java
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.security.client_settings import ClientSettings, ClientSettingsError, Sasl, Store, Tls
from penstock.wire.cluster import Cluster
from penstock.wire.connection import Address
from penstock.wire.deadline import Deadline
from penstock.wire.errors import Disconnected, NotAuthenticated, WireError

if TYPE_CHECKING:
    from penstock.client.librdkafka import Connection

_NO_TOPIC: Final = {
    "topics": [],
    "allow_auto_topic_creation": False,
    "include_cluster_authorized_operations": False,
    "include_topic_authorized_operations": False,
}
"""A question that every broker answers to everybody that it knows."""


class Direct:
    """One connection for each call: they are rare."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def ask(self, api: Api, fields: dict[str, Any], versions: tuple[int, int]) -> Any:
        """The answer of any broker. Errors inside of it are the caller's to `check`."""
        servers, timeout_s = self._connection.bootstrap_servers, self._connection.timeout_s
        cluster = cluster_of(self._connection)
        deadline = Deadline(timeout_s)
        try:
            with cluster.any_connection(deadline) as connection:
                return connection.call(api, fields, deadline, oldest=versions[0], newest=versions[1])
        except NotAuthenticated as error:
            raise errors.NotAuthenticated(servers, str(error)) from error
        except WireError as error:
            raise BrokerUnreachable(servers, timeout_s, str(error)) from error
        finally:
            cluster.close()


def cluster_of(connection: Connection, *, client_id: str = "penstock") -> Cluster:
    """The same cluster for our own connections."""
    try:
        settings = client_settings(connection.given)
    except ClientSettingsError as error:
        raise InvalidValue(f"{error}.") from error
    return Cluster(connection.bootstrap_servers, client_id=client_id, settings=settings)


def check_access(connection: Connection) -> None:
    """Asks one question, so that bad credentials are an error at once: librdkafka would try them again until
    the deadline. A broker that does not answer is no error here; one that ends every connection is."""
    deadline = Deadline(connection.timeout_s)
    try:
        cluster = cluster_of(connection)
        addresses = [Address.parse(text) for text in connection.bootstrap_servers.split(",") if text.strip()]
    except ValueError:
        return  # librdkafka takes addresses that we do not
    for address in addresses:
        try:
            with cluster.connection_to(address, deadline) as found:
                found.call(Api.METADATA, _NO_TOPIC, deadline, oldest=4, newest=12)
        except (NotAuthenticated, Disconnected) as error:
            raise errors.NotAuthenticated(connection.bootstrap_servers, str(error)) from error
        except WireError:
            continue
        cluster.close()
        return


def check(result: Any, doing: str) -> None:
    """Raises for a part of an answer that has an error code."""
    name = ErrorCode(int(result.error_code)).name
    if name == "NONE":
        return
    detail = (getattr(result, "error_message", None) or "").strip().removesuffix(".")
    raise _refusal(name, doing, detail)


def client_settings(texts: Mapping[str, Any]) -> ClientSettings:
    """Security settings under librdkafka's names, or Java's, as our own connection takes them."""
    given = {name: str(value) for name, value in texts.items()}
    if is_java(given):
        trusted = {"ssl.truststore.location": given["ssl.ca.location"]} if "ssl.ca.location" in given else {}
        return ClientSettings.from_properties(trusted | given)
    protocol = given.get("security.protocol", "PLAINTEXT").strip().upper()
    tls = _tls(given) if protocol.endswith("SSL") else None
    sasl = None
    if protocol.startswith("SASL"):
        mechanism = given.get("sasl.mechanism", given.get("sasl.mechanisms", "PLAIN")).upper()
        sasl = Sasl(mechanism, given.get("sasl.username", ""), given.get("sasl.password", ""))
    return ClientSettings(tls=tls, sasl=sasl)


def _tls(given: Mapping[str, str]) -> Tls:
    ca, chain = given.get("ssl.ca.location"), given.get("ssl.certificate.location")
    identity = None
    if chain is not None:
        key, password = Path(given["ssl.key.location"]).read_text(), given.get("ssl.key.password")
        identity = Store(pem=Path(chain).read_text(), kind="PEM", key_pem=key, key_password=password)
    check_hostname = given.get("ssl.endpoint.identification.algorithm", "https") == "https"
    return Tls(Store(path=ca, kind="PEM") if ca else None, identity, check_hostname)


def _refusal(name: str, doing: str, detail: str) -> ClientError:
    if name in INVALID:
        return InvalidValue(f"Could not {doing}: {detail or name}. {INVALID[name]}")
    return BrokerRefused(f"Could not {doing}: {detail or 'the broker refused'} ({name}).", name)
