"""Kerberos by MIT's library, through the package `gssapi`: clients are accepted with the key of a keytab.

`penstock[kerberos]` brings the package. It is compiled where it is installed, against MIT's header files.
"""

from __future__ import annotations

import gssapi
from gssapi.raw.misc import GSSError

from penstock.security.gssapi_server import MECHANISM
from penstock.security.listener_settings import Kerberos
from penstock.security.scram import refusal


class AcceptedContext:
    """A `SecurityContext` of the library."""

    def __init__(self, credentials: gssapi.Credentials) -> None:
        self._context = gssapi.SecurityContext(creds=credentials, usage="accept")

    @property
    def is_complete(self) -> bool:
        return bool(self._context.complete)

    @property
    def client_name(self) -> str:
        return str(self._context.initiator_name)

    def step(self, token: bytes) -> bytes:
        try:
            return self._context.step(token) or b""
        except GSSError:
            raise refusal(MECHANISM) from None

    def wrap(self, data: bytes) -> bytes:
        return bytes(self._context.wrap(data, False).message)

    def unwrap(self, data: bytes) -> bytes:
        try:
            return bytes(self._context.unwrap(data).message)
        except GSSError:
            raise refusal(MECHANISM) from None


def credentials_of(kerberos: Kerberos) -> gssapi.Credentials:
    """The key of the service. OSError when the keytab or the principal in it cannot be used."""
    name = gssapi.Name(kerberos.principal, gssapi.NameType.kerberos_principal)
    try:
        return gssapi.Credentials(name=name, usage="accept", store={"keytab": kerberos.keytab})
    except GSSError as error:
        why = str(error).partition("Minor")[2] or str(error)
        raise OSError(
            f"{kerberos.principal} cannot be used with the keytab {kerberos.keytab}: {why}"
        ) from None
