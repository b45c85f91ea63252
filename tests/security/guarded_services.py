"""A broker with access control and the HTTP services in front of it, each as a process with a file of
settings; the services behind HTTPS and a login. Users: `admin` may do everything, `service` is what the
services themselves are, `alice` owns the topic `alices`, `bob` may do nothing."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.client.acls import Acl, Acls
from penstock.client.admin import Admin
from penstock.security.jaas import OAUTH_MODULE, PLAIN_MODULE, SCRAM_MODULE
from tests.peers.apache_kafka import free_port
from tests.security.certificates import PASSWORD, Authority
from tests.security.properties import UNSECURED

SECONDS = 90.0
MARK = "canary-7d1f"
"""Every secret of these services holds it."""
PASSWORDS = {name: f"{name}-{MARK}" for name in ("admin", "service", "alice", "bob")}
TOKEN_KEY = f"token-key-{MARK}"
TOPIC = "alices"
OTHER = "secrets"
GROUP = "group-of-the-owner"


class GuardedBroker:
    """SASL_SSL with PLAIN, SCRAM and tokens, and Kafka's authorizer. Its secrets come from config providers,
    but for those of the nodes themselves."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = Authority(folder)
        self.server = self.authority.issue("server")
        port = free_port()
        self.address = f"127.0.0.1:{port}"
        users = " ".join(f'user_{name}="{password}"' for name, password in PASSWORDS.items())
        own = f'username="admin" password="{PASSWORDS["admin"]}"'
        secrets = folder / "provided"
        secrets.mkdir(mode=0o700)
        (secrets / "users").write_text(f"{PLAIN_MODULE} required {own} {users};")
        (secrets / "stores.properties").write_text(f"keystore={PASSWORD}\n")
        for path in secrets.iterdir():
            path.chmod(0o600)
        settings = {
            "config.providers": "file,env,directory",
            "listeners": f"BOTH://{self.address}",
            "advertised.listeners": f"BOTH://{self.address}",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,BOTH:SASL_SSL",
            "inter.broker.listener.name": "BOTH",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512,OAUTHBEARER",
            "listener.name.both.plain.sasl.jaas.config": f"${{directory:{secrets}:users}}",
            "listener.name.both.scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required {own};",
            "listener.name.both.oauthbearer.sasl.jaas.config": f"{OAUTH_MODULE} required;",
            "listener.name.both.oauthbearer.sasl.server.callback.handler.class": UNSECURED,
            "ssl.keystore.location": str(self.server.pkcs12),
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.password": f"${{file:{secrets}/stores.properties:keystore}}",
            "ssl.truststore.location": str(self.authority.path),
            "ssl.truststore.type": "PEM",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:admin;User:service;User:ANONYMOUS",
            "delegation.token.secret.key": "${env:TOKEN_KEY}",
            "offsets.topic.num.partitions": "2",
        }
        self.data = folder / "data"
        more = ["--data", str(self.data)]
        self.process = ServiceProcess(folder, "broker", settings, None, more, {"TOKEN_KEY": TOKEN_KEY})

    def client(self, user: str) -> dict[str, str]:
        """Kafka's properties of a client."""
        return {
            "security.protocol": "SASL_SSL",
            "ssl.truststore.location": str(self.authority.path),
            "ssl.truststore.type": "PEM",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": (f'{PLAIN_MODULE} required username="{user}" password="{PASSWORDS[user]}";'),
        }

    def prepare(self) -> None:
        admin = Admin(self.address, timeout_s=20, settings=self.client("admin"))
        for topic in (TOPIC, OTHER):
            admin.create_topic(topic, 1, 1, {})
        entries = [
            Acl("TOPIC", TOPIC, "LITERAL", "User:alice", "*", operation, "ALLOW")
            for operation in (
                "READ",
                "WRITE",
                "DELETE",
                "CREATE",
                "ALTER_CONFIGS",
                "DESCRIBE_CONFIGS",
                "ALTER",
            )
        ]
        entries.append(Acl("GROUP", GROUP, "LITERAL", "User:alice", "*", "ALL", "ALLOW"))
        Acls(admin).create(entries)

    def door(self) -> dict[str, str]:
        """The settings that every service has: HTTPS and a login at the broker."""
        return {
            "listeners": "https://127.0.0.1:0",
            "authentication.method": "BASIC",
            "authentication.realm": "tests",
        }

    def own_store(self) -> dict[str, str]:
        return {"ssl.keystore.location": str(self.server.pem), "ssl.keystore.type": "PEM"}


@dataclass
class ServiceProcess:
    """One `penstock` service with a file of settings."""

    folder: Path
    name: str
    settings: dict[str, str]
    bootstrap_servers: str | None
    more: list[str] = field(default_factory=list)
    environ: dict[str, str] = field(default_factory=dict)
    url: str = ""
    lines: list[str] = field(default_factory=list)

    def start(self) -> ServiceProcess:
        path = self.folder / f"{self.name}.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in self.settings.items()))
        path.chmod(0o600)
        command = [sys.executable, "-m", "penstock", self.name, "--config", str(path)]
        command += ["--log-level", "debug", *self.more]
        if self.bootstrap_servers is not None:
            command += ["--bootstrap-servers", self.bootstrap_servers]
        environ = {**os.environ, **self.environ}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environ
        )
        ready: queue.Queue[str] = queue.Queue()

        def read() -> None:
            assert self.process.stdout is not None
            for line in self.process.stdout:
                self.lines.append(line)
                if line.startswith("ready "):
                    ready.put(line.removeprefix("ready ").strip())
            ready.put("")

        threading.Thread(target=read, daemon=True).start()
        self.url = ready.get(timeout=SECONDS)
        assert self.url, "".join(self.lines)
        return self

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(SECONDS)


@dataclass
class Answer:
    status: int
    text: str
    headers: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


def curl(authority: Path, url: str, *options: str, user: str | None = None, data: Any = None) -> Answer:
    """curl, as a person runs it; `user` comes with the right password."""
    command = ["curl", "-sS", "--max-time", "60", "--cacert", str(authority), "-D", "-"]
    if user is not None:
        command += ["-u", f"{user}:{PASSWORDS[user]}"]
    if data is not None:
        command += ["-d", json.dumps(data)]
    done = subprocess.run([*command, *options, url], capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 0, done.stderr
    head, _, body = done.stdout.partition("\n\n")
    return Answer(int(head.split()[1]), body, head)
