"""The ways to prove oneself at a door that need no broker: certificates, a password file, signed tokens."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from penstock.security.client_settings import ClientSettings
from penstock.settings.errors import SettingError
from penstock.web import Door, take_door_settings
from penstock.web.password_file import PasswordFile, PasswordFileError, hashed
from tests.security.certificates import Authority
from tests.security.guarded_services import Answer, curl

SCRIPT = Path(__file__).with_name("small_service.py")
SECONDS = 60.0
CERTIFICATE = "User:OU=tests,CN=alice"


class Small:
    """The small service with a password file, an issuer's keys, and certificates of clients."""

    def __init__(self, folder: Path, *more: str) -> None:
        self.folder = folder
        self.authority = Authority(folder)
        self.client = self.authority.issue("alice")
        self.issue()
        self.users = folder / "users.properties"
        self.users.write_text(f"alice: {hashed('s3cret')},admin\nbob: plain,viewer\n")
        self.key = ec.generate_private_key(ec.SECP256R1())
        public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(self.key.public_key()))
        keys = folder / "keys.json"
        keys.write_text(json.dumps({"keys": [{**public, "kid": "k", "alg": "ES256"}]}))
        settings = {
            "listeners": "https://127.0.0.1:0",
            "ssl.keystore.location": str(folder / "server.pem"),
            "ssl.keystore.type": "PEM",
            "ssl.truststore.location": str(self.authority.path),
            "ssl.truststore.type": "PEM",
            "ssl.client.authentication": "REQUESTED",
            "authentication.method": "BASIC,BEARER,SSL",
            "authentication.roles": "admin",
            "authentication.password.file": str(self.users),
            "authentication.skip.paths": "/open/*",
            "sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
            "sasl.oauthbearer.expected.audience": "penstock",
        }
        path = folder / "small.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        command = [sys.executable, str(SCRIPT), str(path), *more]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().removeprefix("ready ").strip()

    def issue(self) -> None:
        self.authority.issue("server")

    def token(self, audience: str = "penstock", seconds: int = 60) -> str:
        now = int(time.time())
        claims = {"sub": "carol", "aud": audience, "iat": now - 1, "exp": now + seconds}
        return jwt.encode(claims, self.key, "ES256", {"kid": "k"})

    def ask(self, *options: str, path: str = "/who") -> Answer:
        return curl(self.authority.path, self.url + path, *options)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(SECONDS)


@pytest.fixture(scope="module", params=[(), ("http2",)], ids=["uvicorn", "hypercorn"])
def small(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Small]:
    found = Small(tmp_path_factory.mktemp("small"), *request.param)
    yield found
    found.stop()


def test_passwords_of_a_file(small: Small) -> None:
    assert small.ask("-u", "alice:s3cret").json == {"principal": "User:alice", "roles": ["admin"]}
    assert small.ask("-u", "alice:other").status == 401
    assert small.ask("-u", "bob:plain").status == 403, "bob has none of the roles"
    assert small.ask().status == 401


def test_tokens_of_an_issuer(small: Small) -> None:
    assert small.ask("-H", f"Authorization: Bearer {small.token()}").json["principal"] == "User:carol"
    for token in (small.token("others"), small.token(seconds=-60), small.token()[:-4] + "AAAA", "x"):
        assert small.ask("-H", f"Authorization: Bearer {token}").status == 401, token


def test_certificates_of_clients(small: Small) -> None:
    identity = ("--cert", str(small.client.pem))
    assert small.ask(*identity).json["principal"] == CERTIFICATE
    # A wrong password is not made good by a certificate.
    assert small.ask(*identity, "-u", "alice:other").status == 401
    stranger = Authority(small.folder, "strangers").issue("mallory")
    command = ["curl", "-sS", "--cacert", str(small.authority.path), "--cert", str(stranger.pem), small.url]
    assert subprocess.run(command, capture_output=True, timeout=60, check=False).returncode != 0


def test_skipped_paths_are_those_of_the_table(small: Small) -> None:
    assert small.ask(path="/open/x").json["principal"] == "User:ANONYMOUS"
    for path in ("/open/x/../../who", "/open/%2e%2e/who", "//who", "/WHO", "/who/", "/who;/open/x", "/open/"):
        assert small.ask("--path-as-is", path=path).status in (401, 404), path


def test_certificates_and_users_are_read_again(small: Small) -> None:
    small.users.write_text("dave: other,admin\n")
    deadline = time.monotonic() + SECONDS
    while small.ask("-u", "dave:other").status != 200:
        assert time.monotonic() < deadline
    assert small.ask("-u", "alice:s3cret").status == 401
    renewed = Authority(small.folder, "renewed")
    renewed.issue("server")
    while True:
        command = ["curl", "-s", "--cacert", str(renewed.path), "-o", "/dev/null", small.url]
        if subprocess.run(command, timeout=60, check=False).returncode == 0:
            break
        assert time.monotonic() < deadline
    small.authority.path.write_text(small.authority.pem)


def test_a_door_that_cannot_be_kept_is_an_error(tmp_path: Path) -> None:
    for settings in (
        {"authentication.method": "DIGEST"},
        {"authentication.method": "SSL"},
        {"listeners": "https://127.0.0.1:0"},
        {"listeners": "ftp://127.0.0.1:0"},
        {"listeners": "http://a:1,https://b:2"},
        {"listeners": "https://127.0.0.1:0", "ssl.keystore.location": str(tmp_path / "missing.pem")},
        {"authentication.method": "BASIC", "authentication.password.file": str(tmp_path / "missing")},
        {"authentication.method": "BASIC"},  # the broker would be asked, and the client has no login there
        {"authentication.method": "BASIC", "authentication.broker.mechanism": "GSSAPI"},
    ):
        with pytest.raises(SettingError):
            Door(take_door_settings(settings)[0], "127.0.0.1:1", ClientSettings())


def test_a_password_file_never_shows_its_passwords(tmp_path: Path) -> None:
    path = tmp_path / "users"
    path.write_text("alice: MD5:canary,admin\n")
    with pytest.raises(PasswordFileError) as refused:
        PasswordFile(str(path))
    assert "canary" not in str(refused.value)
    path.write_text("alice: ,admin\n")
    with pytest.raises(PasswordFileError):
        PasswordFile(str(path))
