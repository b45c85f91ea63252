"""`Users`: names with passwords (SCRAM) that a cluster keeps; listed, set, deleted.

A password is salted here, so that neither the request nor the cluster holds it.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from penstock.client.direct import Direct, check
from penstock.client.errors import ClientError, InvalidValue
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.security.scram import ALGORITHMS, BY_CODE

if TYPE_CHECKING:
    from penstock.client.admin import Admin

DEFAULT_ITERATIONS: Final = 8192
DEFAULT_MECHANISMS: Final = ("SCRAM-SHA-512",)
_SALT_BYTES: Final = 32


class UserNotFound(ClientError):
    code = "user_not_found"

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no user named {name!r}. `penstock user list` shows those there are.")


class UserExists(ClientError):
    code = "user_exists"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"A user named {name!r} exists already. Change the password with `penstock user password`."
        )


class User(NamedTuple):
    name: str
    iterations: Mapping[str, int]
    """By mechanism."""


class Users:
    def __init__(self, admin: Admin) -> None:
        self._direct = Direct(admin.connection)

    def listed(self) -> list[User]:
        return sorted(self._described(None))

    def find(self, name: str) -> User | None:
        return next(iter(self._described([name])), None)

    def create(self, name: str, password: str, mechanisms: Sequence[str], iterations: int) -> None:
        if self.find(name) is not None:
            raise UserExists(name)
        self.set_password(name, password, mechanisms, iterations)

    def set_password(self, name: str, password: str, mechanisms: Sequence[str], iterations: int) -> None:
        if not name or not password:
            raise InvalidValue("A user needs a name and a password.")
        upsertions = [_upsertion(name, mechanism, password, iterations) for mechanism in mechanisms]
        self._alter({"deletions": [], "upsertions": upsertions}, f"set the password of {name!r}")

    def delete(self, name: str) -> None:
        found = self.find(name)
        if found is None:
            raise UserNotFound(name)
        deletions = [
            {"name": name, "mechanism": ALGORITHMS[mechanism].code} for mechanism in found.iterations
        ]
        self._alter({"deletions": deletions, "upsertions": []}, f"delete {name!r}")

    def _described(self, names: Sequence[str] | None) -> list[User]:
        fields = {"users": None if names is None else [{"name": name} for name in names]}
        answer = self._direct.ask(Api.DESCRIBE_USER_SCRAM_CREDENTIALS, fields, (0, 0))
        check(answer, "list the users")
        found = []
        for result in answer.results:
            if int(result.error_code) == ErrorCode.RESOURCE_NOT_FOUND:
                continue
            check(result, f"read the user {result.user!r}")
            iterations = {BY_CODE[one.mechanism].mechanism: one.iterations for one in result.credential_infos}
            found.append(User(result.user, iterations))
        return found

    def _alter(self, fields: dict[str, Any], doing: str) -> None:
        for result in self._direct.ask(Api.ALTER_USER_SCRAM_CREDENTIALS, fields, (0, 0)).results:
            check(result, doing)


def _upsertion(name: str, mechanism: str, password: str, iterations: int) -> dict[str, Any]:
    algorithm = ALGORITHMS[mechanism]
    salt = secrets.token_bytes(_SALT_BYTES)
    return {
        "name": name,
        "mechanism": algorithm.code,
        "iterations": iterations,
        "salt": salt,
        "salted_password": hashlib.pbkdf2_hmac(algorithm.digest, password.encode(), salt, iterations),
    }
