"""Encryption of fields (ENCRYPT) and of whole values (ENCRYPT_PAYLOAD), with keys from a local file.

The file is JSON: names of keys, and for each a list of 32-byte keys in base64. The last writes, and any of
them reads, so a key is changed by adding one. From it each subject gets a key of its own (HKDF-SHA256). A
ciphertext is a zero byte, the number of the key as four bytes, and what AES made; in text fields as base64.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from penstock.client.api.exceptions import ConfigException
from penstock.client.serdes.rules.fields import Field
from penstock.client.serdes.rules.model import Mode
from penstock.client.serdes.rules.running import RuleContext, RuleFailed

KEY_FILE: Final = "key.file"
KEK_NAME: Final = "encrypt.kek.name"
ALGORITHM: Final = "encrypt.dek.algorithm"
KMS: Final = "encrypt.kms.type"
LOCAL: Final = ("local-kms", "key-file")
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_HEADER_BYTES: Final = 5
_SIZES: Final = {"AES128_GCM": 16, "AES256_GCM": 32, "AES256_SIV": 64}
"""AES256_SIV gives the same ciphertext for the same text: for keys, which must go to the same partition."""


class _Encryption:
    def __init__(self) -> None:
        self._file: str | None = None

    def configure(self, settings: dict[str, Any]) -> None:
        self._file = settings.get(KEY_FILE)

    def _apply(self, context: RuleContext, data: bytes) -> bytes:
        name = context.parameter(KEK_NAME)
        if not name:
            raise RuleFailed(f"the rule has no {KEK_NAME}")
        kms = context.parameter(KMS)
        if kms is not None and kms not in LOCAL:
            raise RuleFailed(f"{KMS}={kms}: keys are read from a local file only ({', '.join(LOCAL)})")
        algorithm = context.parameter(ALGORITHM) or "AES256_GCM"
        if algorithm not in _SIZES:
            raise RuleFailed(f"{ALGORITHM}={algorithm} is none of {', '.join(_SIZES)}")
        keys = self._keys(name)
        if context.mode is Mode.WRITE:
            number = len(keys)
            key = _derived(keys[-1], context.subject, algorithm)
            return b"\0" + number.to_bytes(4, "big") + _encrypted(algorithm, key, data)
        return _read(algorithm, keys, context.subject, data)

    def _keys(self, name: str) -> tuple[bytes, ...]:
        if not self._file:
            raise RuleFailed(
                f"no key file: set rule.executors._default_.param.{KEY_FILE} to one that has {name!r}"
            )
        found = _file_of(self._file, os.stat(self._file).st_mtime_ns)
        if name not in found:
            raise RuleFailed(f"the key file {self._file} has no key {name!r}")
        return found[name]


class EncryptField(_Encryption):
    """Texts and bytes; a null stays null."""

    type = "ENCRYPT"
    of_fields = True

    def change(self, context: RuleContext, field: Field, value: Any) -> Any:
        if value is None or not field.is_primitive:
            return value
        if isinstance(value, (bytes, bytearray)):
            return self._apply(context, bytes(value))
        if not isinstance(value, str):
            raise RuleFailed(f"{field.full_name} is {field.type_name}: only texts and bytes are encrypted")
        if context.mode is Mode.WRITE:
            return base64.b64encode(self._apply(context, value.encode())).decode()
        try:
            data = base64.b64decode(value, validate=True)
        except binascii.Error as error:
            raise RuleFailed(f"{field.full_name} is not encrypted") from error
        return self._apply(context, data).decode()


class EncryptPayload(_Encryption):
    """Of `encodingRules`: the bytes of a whole value."""

    type = "ENCRYPT_PAYLOAD"

    def transform(self, context: RuleContext, value: Any) -> Any:
        if not isinstance(value, bytes):
            raise RuleFailed("ENCRYPT_PAYLOAD belongs into encodingRules")
        return self._apply(context, value)


def _read(algorithm: str, keys: tuple[bytes, ...], subject: str, data: bytes) -> bytes:
    number = int.from_bytes(data[1:_HEADER_BYTES], "big")
    if len(data) < _HEADER_BYTES or data[0] != 0 or number == 0:
        raise RuleFailed("the value is not encrypted")
    if number > len(keys):
        raise RuleFailed(f"the value is encrypted with key {number}, and the key file has {len(keys)}")
    key = _derived(keys[number - 1], subject, algorithm)
    from cryptography.exceptions import InvalidTag

    try:
        return _decrypted(algorithm, key, data[_HEADER_BYTES:])
    except (InvalidTag, ValueError) as error:
        raise RuleFailed("the value was changed, or is encrypted with another key") from error


def _encrypted(algorithm: str, key: bytes, data: bytes) -> bytes:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESSIV

    if algorithm == "AES256_SIV":
        return AESSIV(key).encrypt(data, [b""])
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, data, None)


def _decrypted(algorithm: str, key: bytes, data: bytes) -> bytes:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESSIV

    if algorithm == "AES256_SIV":
        return AESSIV(key).decrypt(data, [b""])
    return AESGCM(key).decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], None)


@lru_cache(maxsize=1000)
def _derived(key: bytes, subject: str, algorithm: str) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), _SIZES[algorithm], None, f"{algorithm} {subject}".encode()).derive(key)


@lru_cache(maxsize=16)
def _file_of(path: str, changed_ns: int) -> dict[str, tuple[bytes, ...]]:
    """Read again when it was changed."""
    try:
        found = json.loads(Path(path).read_text())
        keys = {
            name: tuple(
                base64.b64decode(each, validate=True)
                for each in ([given] if isinstance(given, str) else given)
            )
            for name, given in found.items()
        }
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise ConfigException(f"{path} is no key file: {error}") from error
    for name, each in keys.items():
        if not each or any(len(key) != _KEY_BYTES for key in each):
            raise ConfigException(f"{path}: a key of {name!r} is not {_KEY_BYTES} bytes in base64.")
    return keys
