"""What `penstock up --secure` writes before it starts anything: certificates, users, a file of settings for
each service, and files with which clients connect. All are in DATA/security, readable by this user alone.

A second start finds the files and keeps passwords and authority. Files of settings are written anew each
time, because addresses may have changed.
"""

from __future__ import annotations

import secrets
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from penstock.platform.authority import LocalAuthority, write_secret

ADMIN: Final = "admin"
SERVICES: Final = "penstock"
"""The user that broker and services are among themselves."""
MECHANISM: Final = "SCRAM-SHA-512"
_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
_PLAIN_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_LISTENER: Final = "listener.name.sasl_ssl."


class SecurityKit:
    """The folder and what stands in it."""

    def __init__(self, data: Path, hosts: Iterable[str]) -> None:
        self.folder = data / "security"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        self.authority = LocalAuthority(self.folder)
        self.store = self.folder / "server.pem"
        always = ("localhost", "127.0.0.1", "::1", socket.gethostname())
        named = [host for host in hosts if host not in ("", "0.0.0.0", "::")]
        self.authority.issue(self.store, [*always, *named])
        self.passwords = {user: self._password(user) for user in (ADMIN, SERVICES)}

    def _password(self, user: str) -> str:
        path = self.folder / f"{user}.password"
        if not path.exists():
            write_secret(path, secrets.token_urlsafe(24).encode() + b"\n")
        return path.read_text().strip()

    def write(self, name: str, settings: Mapping[str, str]) -> Path:
        path = self.folder / name
        write_secret(path, "".join(f"{key}={value}\n" for key, value in settings.items()).encode())
        return path

    def broker_file(self, given: Mapping[str, str]) -> Path:
        """The broker's settings; what the user has given beats them."""
        jaas = f'{_MODULE} required username="{SERVICES}" password="{self.passwords[SERVICES]}";'
        # Debian's kcat has a librdkafka whose SCRAM no Kafka takes any more; inside TLS PLAIN does as well.
        plain = f'{_PLAIN_MODULE} required user_{ADMIN}="{self.passwords[ADMIN]}";'
        return self.write(
            "broker.properties",
            {
                "node.id": "1",
                "process.roles": "broker,controller",
                "inter.broker.listener.name": "SASL_SSL",
                "sasl.enabled.mechanisms": f"{MECHANISM},PLAIN",
                "sasl.mechanism.inter.broker.protocol": MECHANISM,
                f"{_LISTENER}{MECHANISM.lower()}.sasl.jaas.config": jaas,
                f"{_LISTENER}plain.sasl.jaas.config": plain,
                **self._own_store(),
                **self._trust(),
                "authorizer.class.name": _AUTHORIZER,
                "super.users": f"User:{ADMIN};User:{SERVICES}",
                **given,
            },
        )

    def client(self, user: str) -> dict[str, str]:
        """Kafka's settings of a client of this user."""
        jaas = f'{_MODULE} required username="{user}" password="{self.passwords[user]}";'
        return {
            "security.protocol": "SASL_SSL",
            **self._trust(),
            "sasl.mechanism": MECHANISM,
            "sasl.jaas.config": jaas,
        }

    def service_file(self, name: str, client_prefix: str, more: Mapping[str, str] | None = None) -> Path:
        """A service behind HTTPS and a login. Without a prefix it shares its names with its Kafka client."""
        client = {client_prefix + key: value for key, value in self.client(SERVICES).items()}
        door = {"listeners": "https://127.0.0.1:0", "authentication.method": "BASIC"}
        return self.write(f"{name}.properties", {**door, **self._own_store(), **client, **(more or {})})

    def registry_access(self, *prefixes: str) -> dict[str, str]:
        """With which a service comes to the registry, or to Connect, behind the prefix."""
        info = f"{SERVICES}:{self.passwords[SERVICES]}"
        basic = {"basic.auth.credentials.source": "USER_INFO", "basic.auth.user.info": info}
        own = {**self._trust(), **basic}
        return {f"{prefix}{key}": value for prefix in prefixes for key, value in own.items()}

    def write_clients(self, bootstrap_servers: str) -> None:
        """Files with which people's clients connect as `admin`."""
        servers = {"bootstrap.servers": bootstrap_servers}
        self.write("client.properties", {**servers, **self.client(ADMIN)})
        for name, mechanism in (("librdkafka.conf", MECHANISM), ("kcat.conf", "PLAIN")):
            self.write(name, {**servers, **self._library(mechanism)})
        curl = f'cacert = "{self.authority.path.absolute()}"\nuser = "{ADMIN}:{self.passwords[ADMIN]}"\n'
        write_secret(self.folder / "curl.conf", curl.encode())

    def _library(self, mechanism: str) -> dict[str, str]:
        return {
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(self.authority.path.absolute()),
            "sasl.mechanism": mechanism,
            "sasl.username": ADMIN,
            "sasl.password": self.passwords[ADMIN],
        }

    def first_users(self) -> list[str]:
        """As `kafka-storage format --add-scram` takes them."""
        return [f"{MECHANISM}=[name={user},password={word}]" for user, word in self.passwords.items()]

    def _own_store(self) -> dict[str, str]:
        return {"ssl.keystore.location": str(self.store.absolute()), "ssl.keystore.type": "PEM"}

    def _trust(self) -> dict[str, str]:
        path = str(self.authority.path.absolute())
        return {"ssl.truststore.location": path, "ssl.truststore.type": "PEM"}


def how_to_connect(folder: Path, bootstrap_servers: str, urls: Mapping[str, str]) -> str:
    """What a person reads once everything runs. Passwords stay in their files."""
    client = folder / "client.properties"
    return f"""
Everything is on TLS and asks who you are. You are "{ADMIN}"; the password is in {folder}/admin.password

  Kafka's tools   kafka-topics --bootstrap-server {bootstrap_servers} --list \\
                    --command-config {client}
  penstock        penstock topic list --command-config {client}
                  penstock schema list --registry {urls["registry"]} --command-config {client}
                  penstock connector list --connect {urls["connect"]} --command-config {client}
                  penstock sql shell {urls["sql"]} --config-file {client}
  kcat            kcat -F {folder}/kcat.conf -L
  Python          from confluent_kafka import Producer
                  Producer(dict(line.rstrip().split("=", 1) for line in open("{folder}/librdkafka.conf")))
  curl            curl -K {folder}/curl.conf {urls["rest"]}/topics
                  curl -K {folder}/curl.conf {urls["registry"]}/subjects
  Browser         {urls["console"]} (trust {folder}/authority.pem first)

Another user:     penstock user create NAME --command-config {client}
Its rights:       penstock acl grant … --command-config {client}
"""
