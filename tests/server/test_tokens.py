"""Signed tokens against the keys of a JWKS in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from penstock.security.authentication import AuthenticationFailed
from penstock.security.listener_settings import Oauth
from penstock.security.principals import user
from penstock.server.connections.tokens import TokenValidator
from tests.handlers.one_node import HandClock


class Issuer:
    """Signs tokens; its public key stands in the file."""

    def __init__(self, path: Path, kid: str = "first") -> None:
        self.key, self.kid = ec.generate_private_key(ec.SECP256R1()), kid
        public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(self.key.public_key()))
        path.write_text(json.dumps({"keys": [{**public, "kid": kid, "alg": "ES256", "use": "sig"}]}))

    def token(self, clock: HandClock, **changes: Any) -> str:
        now = clock.now_ms() // 1000
        claims = {"sub": "alice", "iss": "me", "aud": "kafka", "iat": now, "exp": now + 60, **changes}
        return jwt.encode(claims, self.key, "ES256", {"kid": self.kid})


def settings(path: Path, **changes: Any) -> Oauth:
    values: dict[str, Any] = {
        "is_unsecured": False,
        "jwks_url": f"file://{path}",
        "audiences": ("kafka",),
        "issuer": "me",
        "skew_seconds": 5,
        "name_claim": "sub",
        "refresh_seconds": 60,
    }
    return Oauth(**{**values, **changes})


def test_a_signed_token_proves_its_subject(tmp_path: Path) -> None:
    path, clock = tmp_path / "jwks.json", HandClock()
    issuer = Issuer(path)
    proof = TokenValidator(settings(path), clock)(issuer.token(clock))
    assert (proof.principal, proof.expires_ms) == (user("alice"), (clock.now_ms() // 1000 + 60) * 1000)
    other = TokenValidator(settings(path, name_claim="preferred"), clock)
    assert other(issuer.token(clock, preferred="al")).principal == user("al")


@pytest.mark.parametrize(
    "wrong",
    [
        {"iss": "you"},
        {"aud": "web"},
        {"exp": 1},
        {"sub": ""},
        {"iat": 9e9},
        {"nbf": 9e9},
        {"scope": 7},
        {"scope": "a a"},
        {"scope": ["a", " "]},
    ],
)
def test_a_token_for_another_or_out_of_its_time_is_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    path, clock = tmp_path / "jwks.json", HandClock()
    issuer = Issuer(path)
    with pytest.raises(AuthenticationFailed):
        TokenValidator(settings(path), clock)(issuer.token(clock, **wrong))


def test_a_token_of_a_stranger_or_without_a_signature_is_refused(tmp_path: Path) -> None:
    path, clock = tmp_path / "jwks.json", HandClock()
    Issuer(path)
    check = TokenValidator(settings(path), clock)
    stranger = Issuer(tmp_path / "other.json")
    plain = jwt.encode({"sub": "alice", "exp": 9e9}, None, "none", {"kid": "first"})  # type: ignore[arg-type]
    shared = jwt.encode({"sub": "alice", "exp": 9e9}, "s" * 64, "HS256", {"kid": "first"})
    for token in (stranger.token(clock), plain, shared, "nonsense"):
        with pytest.raises(AuthenticationFailed):
            check(token)


def test_a_new_key_is_believed_when_the_file_is_read_again(tmp_path: Path) -> None:
    path, clock = tmp_path / "jwks.json", HandClock()
    check = TokenValidator(settings(path), clock)
    check(Issuer(path).token(clock))
    second = Issuer(path, "second")
    with pytest.raises(AuthenticationFailed):
        check(second.token(clock))
    clock.pass_ms(61_000)
    assert check(second.token(clock)).principal == user("alice")
