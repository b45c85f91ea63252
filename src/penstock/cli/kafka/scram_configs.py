"""SCRAM credentials of users, for `kafka-configs`: a password becomes a salted one before it is sent."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final

from penstock.cli.kafka.asking import Asker, check, refusal
from penstock.cli.kafka.options import CommandFailed

MECHANISMS: Final = {"SCRAM-SHA-256": (1, "sha256"), "SCRAM-SHA-512": (2, "sha512")}
"""Kafka's number of each mechanism, and its hash."""
NAMES: Final = {number: name for name, (number, _) in MECHANISMS.items()}
DEFAULT_ITERATIONS: Final = 4096
LEAST_ITERATIONS: Final = 4096
_SALT_BYTES: Final = 32
_CREDENTIAL: Final = re.compile(r"(?:iterations=(-?[0-9]*),)?password=(.*)")


def describe_credentials(asker: Asker, users: Sequence[str]) -> None:
    from penstock.protocol.apis import Api

    fields = {"users": [{"name": user} for user in users] or None}
    answer = asker.any(Api.DESCRIBE_USER_SCRAM_CREDENTIALS, fields, (0, 0))
    check(answer)
    for result in answer.results:
        refused = refusal(result)
        if refused is not None and refused.name == "RESOURCE_NOT_FOUND":
            continue
        if refused is not None:
            print(f"Error retrieving SCRAM credential configs for user-principal '{result.user}': {refused}")
            continue
        infos = ", ".join(
            f"{NAMES[one.mechanism]}=iterations={one.iterations}" for one in result.credential_infos
        )
        print(f"SCRAM credential configs for user-principal '{result.user}' are {infos}")


def alter_credentials(asker: Asker, user: str, added: Mapping[str, str], deleted: Sequence[str]) -> None:
    from penstock.protocol.apis import Api

    fields = {
        "deletions": [{"name": user, "mechanism": MECHANISMS[name][0]} for name in deleted],
        "upsertions": [_upsertion(user, name, text) for name, text in added.items()],
    }
    for result in asker.any(Api.ALTER_USER_SCRAM_CREDENTIALS, fields, (0, 0)).results:
        check(result)


def _upsertion(user: str, mechanism: str, text: str) -> dict[str, Any]:
    found = _CREDENTIAL.fullmatch(text)
    if found is None:
        shown = mechanism.replace("-", "_")
        raise CommandFailed(f"Invalid credential property {shown}={text}")
    iterations = int(found[1]) if found[1] not in (None, "", "-1") else DEFAULT_ITERATIONS
    if iterations < LEAST_ITERATIONS:
        raise CommandFailed(
            f"Iterations {iterations} is less than the minimum {LEAST_ITERATIONS} required for {mechanism}"
        )
    number, digest = MECHANISMS[mechanism]
    salt = secrets.token_bytes(_SALT_BYTES)
    return {
        "name": user,
        "mechanism": number,
        "iterations": iterations,
        "salt": salt,
        "salted_password": hashlib.pbkdf2_hmac(digest, found[2].encode(), salt, iterations),
    }
