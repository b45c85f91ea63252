"""Users in a file, as Jetty's property file has them: `alice: secret,admin,developer`.

A password is plain, or `SCRYPT:` with salt and hash in base 64, as `hashed` writes it. The file is read again
when it changes.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import logging
import os
import secrets
from pathlib import Path
from typing import Final, NamedTuple

from penstock.settings.properties import PropertiesError, parse_properties

_SCRYPT: Final = "SCRYPT:"
_UNKNOWN: Final = ("OBF:", "MD5:", "CRYPT:", "MCF:")
_NOBODYS: Final = "compared with when there is no such user, so that this takes the same time"
_SALT_BYTES: Final = 16
_log = logging.getLogger(__name__)


class PasswordFileError(ValueError):
    """The file cannot be used. The message never shows a password."""


class User(NamedTuple):
    password: str
    roles: frozenset[str]


class PasswordFile:
    """PasswordFileError when the file cannot be read at first; a later one that cannot leaves the users."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._stamp, self._users = self._read()

    def roles_of(self, name: str, password: str) -> frozenset[str] | None:
        """The roles of a user; None when name and password do not belong together."""
        self._look()
        known = self._users.get(name)
        is_right = _matches(password, _NOBODYS if known is None else known.password)
        return known.roles if known is not None and is_right else None

    def _look(self) -> None:
        try:
            if _stamp(self._path) != self._stamp:
                self._stamp, self._users = self._read()
                _log.info("%s was read again", self._path)
        except (OSError, PasswordFileError) as error:
            _log.error("%s was replaced and cannot be used; the users before stay: %s", self._path, error)

    def _read(self) -> tuple[object, dict[str, User]]:
        try:
            stamp, texts = _stamp(self._path), parse_properties(self._path.read_text())
        except OSError as error:
            raise PasswordFileError(f"{self._path} cannot be read: {error.strerror}") from None
        except (UnicodeDecodeError, PropertiesError) as error:
            raise PasswordFileError(f"{self._path} is no password file: {error}") from None
        return stamp, {name: _user(name, text) for name, text in texts.items()}


def hashed(password: str) -> str:
    """The password in the form that a file should have."""
    salt = secrets.token_bytes(_SALT_BYTES)
    parts = (base64.b64encode(part).decode() for part in (salt, _scrypt(password, salt)))
    return _SCRYPT + "$".join(parts)


def _user(name: str, text: str) -> User:
    password, *roles = (part.strip() for part in text.split(","))
    if not password:
        raise PasswordFileError(f"the user {name} has no password")
    if password.startswith(_UNKNOWN):
        raise PasswordFileError(f"the password of {name} is in a form of Jetty's that is not read; hash it")
    return User(password, frozenset(role for role in roles if role))


def _matches(given: str, kept: str) -> bool:
    if not kept.startswith(_SCRYPT):
        return hmac.compare_digest(given.encode(), kept.encode())
    try:
        salt, wanted = (base64.b64decode(part) for part in kept.removeprefix(_SCRYPT).split("$"))
    except (ValueError, binascii.Error):
        return False
    return hmac.compare_digest(_scrypt(given, salt), wanted)


def _scrypt(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=2**14, r=8, p=1)


def _stamp(path: Path) -> object:
    found = os.stat(path)
    return found.st_mtime_ns, found.st_size, found.st_ino
