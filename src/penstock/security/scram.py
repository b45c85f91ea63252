"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677) as Kafka has them: the messages, the arithmetic, and
both sides of an exchange.

Written here and not taken from a library: Kafka adds extensions to the client's first message, prepares names
and passwords as plain UTF-8 (a library that follows RFC 4013 differs), and a server must treat a user that it
does not know like one that it does. Randomness is handed in as nonces.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from penstock.security.authentication import AuthenticationFailed, Proof
from penstock.security.principals import Principal, user


class Algorithm(NamedTuple):
    """One of the two mechanisms."""

    mechanism: str
    code: int
    """In Kafka's messages and records."""
    digest: str
    min_iterations: int = 4096
    max_iterations: int = 16384


SHA_256: Final = Algorithm("SCRAM-SHA-256", 1, "sha256")
SHA_512: Final = Algorithm("SCRAM-SHA-512", 2, "sha512")
ALGORITHMS: Final = {one.mechanism: one for one in (SHA_256, SHA_512)}
BY_CODE: Final = {one.code: one for one in (SHA_256, SHA_512)}
TOKEN_AUTH: Final = "tokenauth"
"""Kafka's extension with which a client says that its name is the id of a delegation token."""

_GS2_HEADER: Final = re.compile(r"n,(?:a=(?P<authzid>(?:[^=,]|=2C|=3D)+))?,")
_CLIENT_FIRST: Final = re.compile(
    r"n,(?:a=(?P<authzid>(?:[^=,]|=2C|=3D)+))?,"
    r"(?P<bare>n=(?P<name>(?:[^=,]|=2C|=3D)+),r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+)(?P<extensions>(?:,[a-zA-Z]+=[^,]*)*))"
)
_SERVER_FIRST: Final = re.compile(
    r"r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+),s=(?P<salt>[A-Za-z0-9+/=]+),i=(?P<iterations>[1-9]\d{0,8})(?:,.*)?"
)
_CLIENT_FINAL: Final = re.compile(
    r"(?P<without_proof>c=(?P<binding>[A-Za-z0-9+/=]+),r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+)(?:,[a-zA-Z]+=[^,]*)*?)"
    r",p=(?P<proof>[A-Za-z0-9+/=]+)"
)
_SERVER_FINAL: Final = re.compile(r"(?:e=(?P<error>[^,]*)|v=(?P<signature>[A-Za-z0-9+/=]+))(?:,.*)?")


@dataclass(frozen=True, slots=True)
class ScramCredential:
    """What a server keeps of a password: enough to check a proof, too little to make one."""

    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int


def salted_password(algorithm: Algorithm, password: str, salt: bytes, iterations: int) -> bytes:
    return hashlib.pbkdf2_hmac(algorithm.digest, password.encode(), salt, iterations)


def credential_of_password(
    algorithm: Algorithm, password: str, salt: bytes, iterations: int
) -> ScramCredential:
    return credential_of_salted(
        algorithm, salted_password(algorithm, password, salt, iterations), salt, iterations
    )


def credential_of_salted(
    algorithm: Algorithm, salted: bytes, salt: bytes, iterations: int
) -> ScramCredential:
    client_key = _mac(algorithm, salted, b"Client Key")
    stored_key = hashlib.new(algorithm.digest, client_key).digest()
    return ScramCredential(salt, stored_key, _mac(algorithm, salted, b"Server Key"), iterations)


class ScramClient:
    """The client's side. `first`, then `final` with the server's first message, then `check` its last."""

    def __init__(
        self, algorithm: Algorithm, name: str, password: str, nonce: str, extensions: str = ""
    ) -> None:
        self._algorithm = algorithm
        self._password = password
        self._nonce = nonce
        self._bare = f"n={_escaped(name)},r={nonce}{',' + extensions if extensions else ''}"
        self._signature = b""

    def first(self) -> bytes:
        return b"n,," + self._bare.encode()

    def final(self, server_first: bytes) -> bytes:
        match = _SERVER_FIRST.fullmatch(_text(server_first))
        if match is None or not match["nonce"].startswith(self._nonce) or match["nonce"] == self._nonce:
            raise AuthenticationFailed("the server's first SCRAM message is not an answer to ours")
        iterations = int(match["iterations"])
        if iterations < self._algorithm.min_iterations:
            raise AuthenticationFailed(f"the server asks for {iterations} iterations, which is too few")
        salted = salted_password(self._algorithm, self._password, _bytes(match["salt"]), iterations)
        without_proof = f"c=biws,r={match['nonce']}"
        message = ",".join((self._bare, _text(server_first), without_proof)).encode()
        client_key = _mac(self._algorithm, salted, b"Client Key")
        stored_key = hashlib.new(self._algorithm.digest, client_key).digest()
        proof = _xor(client_key, _mac(self._algorithm, stored_key, message))
        self._signature = _mac(self._algorithm, _mac(self._algorithm, salted, b"Server Key"), message)
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def check(self, server_final: bytes) -> None:
        """AuthenticationFailed unless the server has shown that it knows the password's keys, too."""
        match = _SERVER_FINAL.fullmatch(_text(server_final))
        if match is None or match["error"] is not None:
            raise AuthenticationFailed("the server has refused the SCRAM exchange")
        if not hmac.compare_digest(_bytes(match["signature"]), self._signature):
            raise AuthenticationFailed(
                "the server does not know this user's password: it may be another server"
            )


class TokenLogin(NamedTuple):
    """What a login by delegation token is checked with. `owner` is None for a token that does not hold: it
    has a credential all the same, and takes the same steps."""

    credential: ScramCredential
    owner: Principal | None
    expires_ms: int


Find = Callable[[str], ScramCredential | None]
FindToken = Callable[[str], TokenLogin]
"""By token id."""


class ScramServer:
    """The server's side, a `Mechanism`. A user that is not there is led through the same exchange, with keys
    that nobody has, and refused with the same words."""

    def __init__(
        self,
        algorithm: Algorithm,
        find: Find,
        nonce: str,
        decoy_key: bytes,
        find_token: FindToken | None = None,
    ) -> None:
        """`decoy_key` makes the salts of users that are not there: the same one for the same name. Without
        `find_token` there are no delegation tokens."""
        self._algorithm = algorithm
        self._find = find
        self._find_token = find_token
        self._nonce = nonce
        self._decoy_key = decoy_key
        self._name: str | None = None
        self._credential: ScramCredential | None = None
        self._result: Proof | None = None  # what a right proof proves; None when no proof can be right
        self._messages = ""
        self.proof: Proof | None = None

    def respond(self, data: bytes) -> bytes:
        return self._first(_text(data)) if self._name is None else self._final(_text(data))

    def _first(self, message: str) -> bytes:
        match = _CLIENT_FIRST.fullmatch(message)
        if match is None:
            raise self._refusal()
        name = _unescaped(match["name"])
        if match["authzid"] is not None and _unescaped(match["authzid"]) != name:
            raise self._refusal()
        self._name = name
        if f"{TOKEN_AUTH}=true" in match["extensions"].lower().split(","):
            self._credential = self._by_token(name)
        else:
            self._credential = self._by_password(name)
        self._nonce = match["nonce"] + self._nonce
        salt = base64.b64encode(self._credential.salt).decode()
        answer = f"r={self._nonce},s={salt},i={self._credential.iterations}"
        self._messages = f"{match['bare']},{answer}"
        return answer.encode()

    def _by_password(self, name: str) -> ScramCredential:
        found = self._find(name)
        self._result = None if found is None else Proof(user(name))
        return self._decoy(name) if found is None else found

    def _by_token(self, token_id: str) -> ScramCredential:
        if self._find_token is None:
            raise self._refusal()
        login = self._find_token(token_id)
        self._result = None if login.owner is None else Proof(login.owner, login.expires_ms)
        return login.credential

    def _final(self, message: str) -> bytes:
        match, credential = _CLIENT_FINAL.fullmatch(message), self._credential
        assert credential is not None
        assert self._name is not None
        if (
            match is None
            or not hmac.compare_digest(match["nonce"].encode(), self._nonce.encode())
            or _GS2_HEADER.fullmatch(_text(_bytes(match["binding"]))) is None
        ):
            raise self._refusal()
        text = f"{self._messages},{match['without_proof']}".encode()
        proof = _bytes(match["proof"])
        if len(proof) != len(credential.stored_key):
            raise self._refusal()
        client_key = _xor(proof, _mac(self._algorithm, credential.stored_key, text))
        computed = hashlib.new(self._algorithm.digest, client_key).digest()
        if not hmac.compare_digest(computed, credential.stored_key) or self._result is None:
            raise self._refusal()
        self.proof = self._result
        signature = _mac(self._algorithm, credential.server_key, text)
        return b"v=" + base64.b64encode(signature)

    def _decoy(self, name: str) -> ScramCredential:
        salt = salt_of(self._algorithm, self._decoy_key, name)
        size = hashlib.new(self._algorithm.digest).digest_size
        return ScramCredential(salt, bytes(size), bytes(size), self._algorithm.min_iterations)

    def _refusal(self) -> AuthenticationFailed:
        return refusal(self._algorithm.mechanism)


def salt_of(algorithm: Algorithm, key: bytes, name: str) -> bytes:
    """A salt that is always the same for a name, and that nobody can foretell without the key."""
    return _mac(algorithm, key, name.encode())[:24]


def refusal(mechanism: str) -> AuthenticationFailed:
    """The one answer to every wrong proof, in Kafka's words."""
    return AuthenticationFailed(
        "Authentication failed during authentication due to invalid credentials with SASL mechanism "
        f"{mechanism}"
    )


def _mac(algorithm: Algorithm, key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, algorithm.digest)


def _xor(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))


def _escaped(name: str) -> str:
    return name.replace("=", "=3D").replace(",", "=2C")


def _unescaped(name: str) -> str:
    return name.replace("=2C", ",").replace("=3D", "=")


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise AuthenticationFailed("a SCRAM message is not UTF-8") from None


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise AuthenticationFailed("a SCRAM message is not in base 64") from None
