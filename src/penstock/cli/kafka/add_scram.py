"""`--add-scram 'SCRAM-SHA-256=[name=alice,password=…]'` as a record of the metadata log, with Kafka's checks
and sentences. Unlike Kafka's, no sentence shows a secret."""

from __future__ import annotations

import base64
import binascii
import secrets
from typing import Final

from penstock.cli.kafka.options import CommandFailed
from penstock.controller.security_records import UserScramCredentialRecord
from penstock.security.scram import ALGORITHMS, Algorithm, credential_of_salted, salted_password

DEFAULT_ITERATIONS: Final = 4096
_SALT_BYTES: Final = 32


def scram_record(text: str) -> UserScramCredentialRecord:
    mechanism, equals, config = text.strip().partition("=")
    if not equals:
        raise CommandFailed("Failed to find equals sign in SCRAM argument")
    algorithm = ALGORITHMS.get(mechanism)
    if algorithm is None:
        raise CommandFailed(f"The add-scram mechanism {mechanism} is not supported.")
    if not config.startswith("["):
        raise CommandFailed("Expected configuration string to start with [")
    if not config.endswith("]"):
        raise CommandFailed("Expected configuration string to end with ]")
    return _record(algorithm, dict(_component(part) for part in config[1:-1].split(",")))


def _component(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise CommandFailed("No equals sign found in a SCRAM component")
    if len(value) >= 2 and value.startswith('"') and value.endswith('"'):
        value = value[1:-1]
    return name, value


def _record(algorithm: Algorithm, parts: dict[str, str]) -> UserScramCredentialRecord:
    name, salt = parts.pop("name", None), parts.pop("salt", None)
    if name is None:
        raise CommandFailed("You must supply 'name' to add-scram")
    iterations = _iterations(algorithm, parts.pop("iterations", None))
    password, salted = parts.pop("password", None), parts.pop("saltedpassword", None)
    if password is None and salted is None:
        raise CommandFailed("You must supply one of 'password' or 'saltedpassword' to add-scram")
    if password is None and salt is None:
        raise CommandFailed("You must supply 'salt' with 'saltedpassword' to add-scram")
    if parts:
        raise CommandFailed(f"Unknown SCRAM configurations: {', '.join(sorted(parts))}")
    salt_bytes = secrets.token_bytes(_SALT_BYTES) if salt is None else _decoded(salt, "salt")
    if password is not None:
        kept = salted_password(algorithm, password, salt_bytes, iterations)
    else:
        kept = _decoded(salted or "", "saltedPassword")
    made = credential_of_salted(algorithm, kept, salt_bytes, iterations)
    return UserScramCredentialRecord(
        name, algorithm.code, made.salt, made.stored_key, made.server_key, iterations
    )


def _iterations(algorithm: Algorithm, text: str | None) -> int:
    try:
        count = DEFAULT_ITERATIONS if text is None else int(text)
    except ValueError:
        raise CommandFailed(f"Failed to parse iterations count: {text}") from None
    shown = algorithm.mechanism.replace("-", "_")
    if count < algorithm.min_iterations:
        least = algorithm.min_iterations
        raise CommandFailed(f"The 'iterations' value must be >= {least} for add-scram using {shown}")
    if count > algorithm.max_iterations:
        most = algorithm.max_iterations
        raise CommandFailed(f"The 'iterations' value must be <= {most} for add-scram using {shown}")
    return count


def _decoded(text: str, what: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise CommandFailed(f"Failed to decode given {what}") from None
