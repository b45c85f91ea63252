"""`Door`: which caller stands before a service. One for all services; every request passes through it.

A request without credentials is answered 401, as one with wrong ones is. Nothing is decided by a path as the
client wrote it: routes that ask nobody are known by the table.
"""

from __future__ import annotations

import base64
import binascii
import json
import logging
import ssl
from fnmatch import fnmatchcase
from typing import Any, Final

from starlette.requests import Request

from penstock.clock import SystemClock
from penstock.security.authentication import AuthenticationFailed
from penstock.security.client_settings import ClientSettings, Sasl
from penstock.security.keystores import KeystoreError
from penstock.security.oauth_login import OauthLogin
from penstock.security.principals import user
from penstock.server.connections.tokens import TokenValidator
from penstock.settings.errors import SettingError, invalid
from penstock.web.broker_login import BrokerLogin, trying
from penstock.web.callers import Caller, anonymous, host_of
from penstock.web.door_settings import BASIC_MECHANISMS, DoorSettings
from penstock.web.errors import HttpError
from penstock.web.password_file import PasswordFile, PasswordFileError
from penstock.web.routes import Route
from penstock.web.threads import Threads
from penstock.web.tls import peer_certificate
from penstock.wire.server_tls import ServerContext

UNAUTHORIZED: Final = "Unauthorized"
_CREDENTIALS_MAX: Final = 16 * 1024
_AT_ONCE: Final = 8
_OPEN: Final = DoorSettings()
_PLAIN: Final = ClientSettings()
_log = logging.getLogger(__name__)


class Door:
    """`bootstrap_servers` and `client` are those of the service: they lead to the broker that is asked."""

    def __init__(
        self,
        settings: DoorSettings = _OPEN,
        bootstrap_servers: str = "",
        client: ClientSettings = _PLAIN,
        alpn: tuple[str, ...] = ("http/1.1",),
    ) -> None:
        """SettingError when the door cannot be kept as the settings say."""
        self.settings = settings
        try:
            self.certificates = (
                None if settings.tls is None else ServerContext(settings.tls, SystemClock(), alpn)
            )
            self._file = None if settings.password_file is None else PasswordFile(settings.password_file)
            self._tokens = None if settings.oauth is None else TokenValidator(settings.oauth, SystemClock())
        except PasswordFileError as error:
            name = "authentication.password.file"
            raise invalid(name, settings.password_file, str(error), "a file with users") from None
        except (KeystoreError, OSError, ssl.SSLError) as error:
            raise SettingError(
                f"The door cannot be kept: {error}", setting="", value=None, allowed=""
            ) from None
        self._mechanism = _mechanism(settings, client)
        self._login = BrokerLogin(trying(bootstrap_servers, client)) if settings.asks_broker else None
        self._threads: Threads | None = None

    def print_ready(self, address: str) -> None:
        """The line that says that clients may connect, with `https://` where they must write it."""
        print(f"ready {address}" if self.settings.tls is None else f"ready https://{address}", flush=True)

    @property
    def is_kept(self) -> bool:
        """Whether callers must prove who they are."""
        return bool(self.settings.methods)

    async def authenticate(self, request: Request, route: Route) -> Caller:
        """An `Authenticate`."""
        if not self.is_kept or self.is_skipped(route.path):
            return anonymous(host_of(request))
        return await self.caller_of(request)

    def is_skipped(self, path: str) -> bool:
        return any(fnmatchcase(path, pattern) for pattern in self.settings.skip_paths)

    async def caller_of(self, request: Request) -> Caller:
        """The caller that a request proves; HttpError 401 when it proves none."""
        given = request.headers.get("authorization", "")
        scheme, _, credentials = given.partition(" ")
        if not given and "SSL" in self.settings.methods:
            return self._by_certificate(request)
        if len(credentials) > _CREDENTIALS_MAX:
            raise self._refusal()
        if scheme.lower() == "basic" and "BASIC" in self.settings.methods:
            return await self.by_password(host_of(request), *self._basic(credentials))
        if scheme.lower() == "bearer" and "BEARER" in self.settings.methods:
            return await self._by_token(host_of(request), credentials.strip())
        raise self._refusal()

    async def by_password(self, host: str, name: str, password: str) -> Caller:
        """The caller of a name and a password."""
        if self._file is not None:
            self._threads = self._threads or Threads(_AT_ONCE, "password-file")
            roles = await self._threads.call(self._file.roles_of, name, password)
            if roles is None:
                raise self._refusal()
            if "*" not in self.settings.roles and not roles & self.settings.roles:
                raise HttpError(403, "The caller has none of the roles that may use this service.", 40301)
            return Caller(user(name), host, roles=roles)
        assert self._login is not None, "passwords are known by a file or by the broker"
        sasl = Sasl(self._mechanism, name, password)
        if not name or not password or "\0" in name + password or not await self._login.is_right(sasl):
            raise self._refusal()
        return Caller(user(name), host, sasl)

    async def _by_token(self, host: str, token: str) -> Caller:
        sasl = Sasl("OAUTHBEARER", login=OauthLogin(token=token))
        try:
            if self._tokens is not None:
                self._threads = self._threads or Threads(_AT_ONCE, "tokens")
                proof = await self._threads.call(self._tokens, token)
                return Caller(proof.principal, host, sasl)
            assert self._login is not None, "tokens are known by their keys or by the broker"
            name = _claims(token).get(self.settings.name_claim)
            if not isinstance(name, str) or not await self._login.is_right(sasl):
                raise self._refusal()
        except AuthenticationFailed:
            raise self._refusal() from None
        return Caller(user(name), host, sasl)

    def _by_certificate(self, request: Request) -> Caller:
        certificate = peer_certificate(request)
        if certificate is None or self.certificates is None:
            raise self._refusal()
        try:
            return Caller(self.certificates.principal_of(certificate), host_of(request))
        except ValueError:
            raise self._refusal() from None

    def _basic(self, credentials: str) -> tuple[str, str]:
        try:
            name, colon, password = base64.b64decode(credentials, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError, ValueError):
            raise self._refusal() from None
        if not colon:
            raise self._refusal()
        return name, password

    def _refusal(self) -> HttpError:
        words = {"BASIC": f'Basic realm="{self.settings.realm}", charset="UTF-8"', "BEARER": "Bearer"}
        wanted = ", ".join(words[method] for method in self.settings.methods if method in words)
        return HttpError(401, UNAUTHORIZED, 401, {"WWW-Authenticate": wanted} if wanted else {})


def _mechanism(settings: DoorSettings, client: ClientSettings) -> str:
    """By which the broker is asked for passwords."""
    own = "" if client.sasl is None else client.sasl.mechanism
    if settings.asks_broker and client.sasl is None:
        why = (
            "callers log in at the broker, and the service's own Kafka client comes in without a proof. "
            "Give it security.protocol SASL_SSL, or users by authentication.password.file, or tokens by "
            "sasl.oauthbearer.jwks.endpoint.url"
        )
        raise invalid("authentication.method", ",".join(settings.methods), why, "")
    return settings.broker_mechanism or (own if own in BASIC_MECHANISMS else BASIC_MECHANISMS[0])


def _claims(token: str) -> dict[str, Any]:
    """What a token says of itself; believed only when the broker has taken the token."""
    parts = token.split(".")
    try:
        found = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (IndexError, ValueError, binascii.Error):
        return {}
    return found if isinstance(found, dict) else {}


OPEN_DOOR: Final = Door()
"""Plain HTTP, and nobody is asked."""
