"""The settings of a connection to MongoDB, and the connection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from penstock.connect.api import ConfigKey, Importance, Kind
from penstock.connect.api.config_def import non_empty
from penstock.connect.api.guards import Forbidden, allowed_address
from penstock.connect.api.refusals import Mistakes, missing, require, unsupported
from penstock.connect.errors import ConnectError, RetriableError

SELECTION_MS: Final = 30_000
_LOST: Final = (260, 280, 286)  # a resume token that means nothing any more
KEYS: Final = (
    ConfigKey(
        "connection.uri", Kind.PASSWORD, "mongodb://localhost:27017", Importance.HIGH,
        "mongodb://… or mongodb+srv://…. It is not shown: it may hold a password.", non_empty,
    ),
    ConfigKey("database", Kind.STRING, "", Importance.HIGH, "The database."),
    ConfigKey("collection", Kind.STRING, "", Importance.HIGH, "The collection."),
)  # fmt: skip
UNSUPPORTED: Final = {
    "connection.ssl.": "Use tls=true in connection.uri. The certificates of the machine are trusted.",
    "connection.ssl.truststore": "",
    "server.api.": "",
    "mongo.errors.": "Use errors.tolerance.",
    "provider": "",
}


def connection_mistakes(config: Mapping[str, Any], refused: Mapping[str, str]) -> Mistakes:
    found = unsupported(config, {**UNSUPPORTED, **refused}) + missing("pymongo")
    uri = str(config.get("connection.uri") or "mongodb://localhost:27017")
    if not uri.startswith(("mongodb://", "mongodb+srv://")):
        return [*found, ("connection.uri", "It begins with mongodb:// or mongodb+srv://")]
    if not found:
        try:
            _guard(uri)
        except (Forbidden, ConnectError) as error:
            found.append(("connection.uri", str(error)))
    return found


def _guard(uri: str) -> None:
    """Every host of the address, and those that a name of kind SRV leads to."""
    from pymongo.errors import ConfigurationError, InvalidURI
    from pymongo.uri_parser import parse_uri

    try:
        nodes = parse_uri(uri)["nodelist"]
    except (InvalidURI, ValueError) as error:
        raise ConnectError("it is no address of MongoDB") from error
    except ConfigurationError as error:
        raise RetriableError(f"the hosts of connection.uri were not found: {error}") from error
    for host, _ in nodes:
        allowed_address(f"//[{host}]" if ":" in host else f"//{host}")


def client(settings: Mapping[str, Any]) -> Any:
    require("pymongo")
    from pymongo import MongoClient

    uri = settings["connection.uri"]
    _guard(uri)
    return MongoClient(uri, serverSelectionTimeoutMS=SELECTION_MS, connect=False, appname="penstock")


@contextmanager
def errors() -> Iterator[None]:
    from pymongo import errors as mongo

    try:
        yield
    except mongo.BulkWriteError:
        raise
    except (mongo.ConnectionFailure, mongo.ExecutionTimeout, mongo.WaitQueueTimeoutError) as error:
        raise RetriableError(f"MongoDB: {error}") from error
    except mongo.OperationFailure as error:
        if error.code in _LOST:
            raise ConnectError(
                f"the change stream does not reach back to where this connector was ({error}). Reset its "
                "offsets"
            ) from error
        if error.has_error_label("RetryableWriteError"):
            raise RetriableError(f"MongoDB: {error}") from error
        raise ConnectError(f"MongoDB: {error}") from error
    except mongo.PyMongoError as error:
        raise ConnectError(f"MongoDB: {error}") from error
