"""What stands behind each listener: how a connection is protected, and how its client proves who it is.

`Doors` is made at the start, from the settings; a listener that cannot be protected as they say is an error
then, and nothing is served.
"""

from __future__ import annotations

import base64
import secrets
import socket
import ssl
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

from penstock.handlers.broker import Broker
from penstock.security.authentication import Mechanism, SaslAuthentication
from penstock.security.delegation_tokens import token_credential
from penstock.security.gssapi_server import GssapiServer
from penstock.security.keystores import KeystoreError
from penstock.security.listener_settings import (
    GSSAPI,
    ListenerSecurity,
    ListenerSettingsError,
    listener_security,
)
from penstock.security.oauthbearer import OauthServer
from penstock.security.plain import PlainServer
from penstock.security.principals import TokenPrincipal, parse_principal
from penstock.security.scram import (
    ALGORITHMS,
    Algorithm,
    ScramCredential,
    ScramServer,
    TokenLogin,
    salt_of,
)
from penstock.server.connections.plain import PlainRequests, new_conversation, new_plain
from penstock.server.connections.sasl import SaslConversation
from penstock.server.connections.session import Session
from penstock.server.connections.tls import TlsTransport
from penstock.server.connections.transport import Transport, transport_for
from penstock.settings import Listener
from penstock.settings.errors import SettingError
from penstock.wire.server_tls import ServerContext

_NONCE_BYTES: Final = 24


class Doors:
    """One for each listener, by name."""

    def __init__(self, broker: Broker, listeners: Iterable[Listener]) -> None:
        """SettingError when a listener cannot be protected as the settings say."""
        decoy_key = secrets.token_bytes(32)
        plain = new_plain(broker)
        self._doors = {one.name: _Door(broker, one, decoy_key, plain) for one in listeners}

    def transport(self, listener: Listener, sock: socket.socket) -> Transport:
        return self._doors[listener.name].transport(sock)

    def session(self, listener: Listener, host: str) -> Session:
        return self._doors[listener.name].session(host)

    def close(self) -> None:
        """End what works in the background for the listeners."""
        for door in self._doors.values():
            door.close()


class _Door:
    def __init__(
        self, broker: Broker, listener: Listener, decoy_key: bytes, plain: PlainRequests | None
    ) -> None:
        self._broker = broker
        self._plain = plain
        self._listener = listener
        self._decoy_key = decoy_key
        self._closed_at_end: list[Callable[[], None]] = []
        texts = broker.static_settings.given
        try:
            self._security = listener_security(texts, listener.name, listener.security_protocol)
            tls = self._security.tls
            self._context = None if tls is None else ServerContext(tls, broker.clock)
        except ListenerSettingsError as error:
            raise _setting_error(error.setting, listener, str(error)) from None
        except (KeystoreError, OSError, ssl.SSLError) as error:
            raise _setting_error("ssl.keystore.location", listener, str(error)) from None
        try:
            self._offered = self._mechanisms(self._security)
        except (KeystoreError, OSError, ssl.SSLError) as error:
            raise _setting_error("sasl.jaas.config", listener, str(error)) from None

    def close(self) -> None:
        for close in self._closed_at_end:
            close()

    def transport(self, sock: socket.socket) -> Transport:
        idle_ms = self._broker.settings.connections_max_idle_ms
        plain = transport_for(sock, idle_ms)
        return plain if self._context is None else TlsTransport(sock, self._context, idle_ms)

    def session(self, host: str) -> Session:
        broker, sasl = self._broker, None
        if self._security.mechanisms:
            clock = broker.clock
            machine = SaslAuthentication(self._offered, clock.now_ms, self._security.max_session_ms)
            sasl = SaslConversation(machine, clock, broker.settings.connection_failed_authentication_delay_ms)
        plain = None if self._plain is None else new_conversation(self._plain)
        return Session(broker, self._listener.name, host, sasl=sasl, plain=plain)

    def _mechanisms(self, security: ListenerSecurity) -> Mapping[str, Callable[[], Mechanism]]:
        made: dict[str, Callable[[], Mechanism]] = {}
        for name in security.mechanisms:
            if name in ALGORITHMS:
                made[name] = partial(self._scram, ALGORITHMS[name])
            elif name == "PLAIN":
                made[name] = partial(PlainServer, security.passwords)
            elif name == GSSAPI:
                made[name] = self._gssapi(security)
            else:
                from penstock.server.connections.tokens import TokenValidator  # costs a tenth of a second

                assert security.oauth is not None
                validator = TokenValidator(security.oauth, self._broker.clock)
                self._closed_at_end.append(validator.close)
                made[name] = partial(OauthServer, validator)
        return made

    def _gssapi(self, security: ListenerSecurity) -> Callable[[], Mechanism]:
        kerberos = security.kerberos
        assert kerberos is not None
        try:
            from penstock.server.connections.kerberos import AcceptedContext, credentials_of
        except ImportError as error:
            why = f"GSSAPI needs MIT's Kerberos and its package: pip install 'penstock[kerberos]' ({error})"
            raise _setting_error("sasl.enabled.mechanisms", self._listener, why) from None
        credentials = credentials_of(kerberos)
        return partial(GssapiServer, partial(AcceptedContext, credentials), kerberos.names)

    def _scram(self, algorithm: Algorithm) -> ScramServer:
        nonce = base64.b64encode(secrets.token_bytes(_NONCE_BYTES)).decode()
        has_tokens = bool(self._broker.settings.delegation_token_secret_key)
        return ScramServer(
            algorithm,
            partial(self._credential, algorithm),
            nonce,
            self._decoy_key,
            partial(self._token, algorithm) if has_tokens else None,
        )

    def _credential(self, algorithm: Algorithm, name: str) -> ScramCredential | None:
        """As the metadata has it now."""
        found = self._broker.controller.image_or_bootstrap.passwords.get((name, algorithm.code))
        if found is None:
            return None
        return ScramCredential(found.salt, found.stored_key, found.server_key, found.iterations)

    def _token(self, algorithm: Algorithm, token_id: str) -> TokenLogin:
        """As the metadata has the token now. A token that is not there costs as much time as one that is."""
        key = self._broker.settings.delegation_token_secret_key or ""
        salt = salt_of(algorithm, self._decoy_key, token_id)
        credential = token_credential(algorithm, key, token_id, salt)
        found = self._broker.controller.image.tokens.get(token_id)
        if found is None or found.has_expired(self._broker.clock.now_ms()):
            return TokenLogin(credential, None, 0)
        return TokenLogin(credential, TokenPrincipal(*parse_principal(found.owner)), found.expires_ms)


def _setting_error(setting: str, listener: Listener, message: str) -> SettingError:
    return SettingError(
        f"listener {listener.name} ({listener.security_protocol}) cannot be opened with {setting} as it is: "
        f"{message}",
        setting=setting,
        value=None,
        allowed=f"a value of {setting}, or of listener.name.{listener.name.lower()}.{setting}, that fits",
    )
