"""The settings of a connection to Redis, and the connection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlsplit

from penstock.connect.api import ConfigKey, Importance, Kind
from penstock.connect.api.config_def import at_least, non_empty
from penstock.connect.api.guards import Forbidden, allowed_address
from penstock.connect.api.refusals import Mistakes, missing, require, unsupported
from penstock.connect.errors import ConnectError, RetriableError

KEYS: Final = (
    ConfigKey(
        "redis.uri",
        Kind.STRING,
        "redis://localhost:6379",
        Importance.HIGH,
        "redis://HOST:PORT/DATABASE, or rediss:// for TLS. A user and a password have their own settings.",
        non_empty,
    ),
    ConfigKey("redis.username", Kind.STRING, "", Importance.MEDIUM, "The user."),
    ConfigKey("redis.password", Kind.PASSWORD, None, Importance.HIGH, "The password."),
    ConfigKey(
        "redis.timeout",
        Kind.LONG,
        60,
        Importance.LOW,
        "How many seconds a command may take.",
        at_least(1),
    ),
)
UNSUPPORTED: Final = {
    "redis.cluster.enabled": "One transaction cannot span the nodes of a cluster.",
    "redis.host": "Use redis.uri.",
    "redis.port": "Use redis.uri.",
    "redis.tls": "Begin redis.uri with rediss://.",
    "redis.insecure": "",
    "redis.key.file": "",
    "redis.key.cert": "",
    "redis.key.password": "",
    "redis.cacert": "",
    "redis.pool": "",
    "redis.wait.": "",
}


def connection_mistakes(config: Mapping[str, Any], refused: Mapping[str, str]) -> Mistakes:
    found = unsupported(config, {**UNSUPPORTED, **refused}) + missing("redis")
    uri = str(config.get("redis.uri") or "redis://localhost:6379")
    parts = urlsplit(uri)
    if parts.scheme not in ("redis", "rediss") or not parts.hostname:
        found.append(("redis.uri", "It begins with redis:// or rediss:// and a host"))
    elif parts.password or parts.username:
        found.append(("redis.uri", "Give the user in redis.username and the password in redis.password"))
    else:
        try:
            allowed_address(uri)
        except Forbidden as error:
            found.append(("redis.uri", str(error)))
    return found


def connected(settings: Mapping[str, Any]) -> Any:
    require("redis")
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    uri = settings["redis.uri"]
    allowed_address(uri)
    return redis.Redis.from_url(
        uri,
        username=settings["redis.username"] or None,
        password=settings["redis.password"],
        socket_timeout=settings["redis.timeout"],
        socket_connect_timeout=settings["redis.timeout"],
        retry=Retry(NoBackoff(), 0),  # the client does not know whether a lost answer was a yes
    )


@contextmanager
def errors() -> Iterator[None]:
    """A server that is gone, or still reads its data, may come back."""
    import redis

    try:
        yield
    except (redis.AuthenticationError, redis.exceptions.NoPermissionError) as error:
        raise ConnectError(f"Redis refused the user: {error}") from error
    except (redis.ConnectionError, redis.TimeoutError, redis.BusyLoadingError, redis.ReadOnlyError) as error:
        raise RetriableError(f"Redis: {error}") from error
    except redis.WatchError as error:
        raise RetriableError("another task has written these partitions meanwhile") from error
    except redis.RedisError as error:
        raise ConnectError(f"Redis: {error}") from error
