"""Decisions about what is kept of passwords for SCRAM: set and delete. Pure, with Kafka's sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from penstock.controller.image import Image
from penstock.controller.metadata_records import MetadataRecord
from penstock.controller.security_records import (
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from penstock.protocol.errors import ErrorCode, KafkaError
from penstock.security.scram import BY_CODE, credential_of_salted


class Deletion(NamedTuple):
    name: str
    mechanism: int


class Upsertion(NamedTuple):
    name: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes

    def __repr__(self) -> str:
        return f"Upsertion({self.name!r}, {self.mechanism})"


def decide_passwords(
    image: Image, deletions: Sequence[Deletion], upsertions: Sequence[Upsertion]
) -> tuple[list[MetadataRecord], dict[str, KafkaError | None]]:
    """The records, and what is said of each user. A user with one mistake keeps everything as it is."""
    wishes: list[Deletion | Upsertion] = [*deletions, *upsertions]
    results: dict[str, KafkaError | None] = {wish.name: None for wish in wishes}
    seen: set[tuple[str, int]] = set()
    for wish in wishes:
        try:
            _check(image, wish)
            if (wish.name, wish.mechanism) in seen:
                raise KafkaError(
                    ErrorCode.DUPLICATE_RESOURCE,
                    "A user credential cannot be altered twice in the same request",
                )
            seen.add((wish.name, wish.mechanism))
        except KafkaError as error:
            results[wish.name] = results[wish.name] or error
    records = [_record(wish) for wish in wishes if results[wish.name] is None]
    return records, results


def _check(image: Image, wish: Deletion | Upsertion) -> None:
    if not wish.name:
        raise _unacceptable("Username must not be empty")
    algorithm = BY_CODE.get(wish.mechanism)
    if algorithm is None:
        raise KafkaError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    if isinstance(wish, Deletion):
        if (wish.name, wish.mechanism) not in image.passwords:
            raise KafkaError(
                ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist"
            )
    elif wish.iterations < algorithm.min_iterations:
        raise _unacceptable("Too few iterations")
    elif wish.iterations > algorithm.max_iterations:
        raise _unacceptable("Too many iterations")
    elif not wish.salt or not wish.salted_password:
        raise _unacceptable("Salt and salted password must not be empty")


def _record(wish: Deletion | Upsertion) -> MetadataRecord:
    if isinstance(wish, Deletion):
        return RemoveUserScramCredentialRecord(wish.name, wish.mechanism)
    made = credential_of_salted(BY_CODE[wish.mechanism], wish.salted_password, wish.salt, wish.iterations)
    return UserScramCredentialRecord(
        wish.name, wish.mechanism, made.salt, made.stored_key, made.server_key, made.iterations
    )


def _unacceptable(message: str) -> KafkaError:
    return KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, message)
