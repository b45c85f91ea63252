"""S1 again, over TLS and after a proof: mutated frames of every API and version from an administrator and
from a user with few rights, who came in by SASL. The broker lives, stays small, serves others, and logs no
surprise."""

from __future__ import annotations

import ssl
import time
from functools import partial
from pathlib import Path

import pytest

from penstock.protocol.apis import Api
from penstock.security.acls import PatternType, Permission
from penstock.security.client_settings import Sasl
from penstock.security.jaas import PLAIN_MODULE, SCRAM_MODULE
from penstock.security.operations import Operation, ResourceType
from penstock.security.scram import SHA_512, salted_password
from penstock.settings.security import STANDARD_AUTHORIZER
from penstock.testing.process import BrokerProcess
from tests.fuzz.senders import HEALTHY_SECONDS, SETTINGS, SURPRISE, Sender, run_senders
from tests.fuzz.test_sockets import create_topics
from tests.handlers.test_acls import entry
from tests.peers.apache_kafka import free_port
from tests.security.certificates import PASSWORD, Authority
from tests.security.raw_login import logged_in
from tests.server.wire_bytes import ask

SHORT_SECONDS = 4.0
LONG_SECONDS = 5 * 60.0
ADMIN = Sasl("PLAIN", "administrator", "a-password")
LOWLY = Sasl("SCRAM-SHA-512", "lowly", "another-password")
"""Names that no mutated request is likely to hit, which would take their rights."""
SALT = b"0123456789abcdef"


def secured_settings(authority: Authority, address: str) -> dict[str, str]:
    server = authority.issue("broker")
    users = f'username="node" password="n" user_node="n" user_{ADMIN.username}="{ADMIN.password}"'
    return {
        **SETTINGS,
        "listeners": f"BOTH://{address}",
        "advertised.listeners": f"BOTH://{address}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,BOTH:SASL_SSL",
        "inter.broker.listener.name": "BOTH",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "listener.name.both.plain.sasl.jaas.config": f"{PLAIN_MODULE} required {users};",
        "listener.name.both.scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required;",
        "ssl.keystore.location": str(server.pkcs12),
        "ssl.keystore.password": PASSWORD,
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "super.users": f"User:node;User:{ADMIN.username}",
        "delegation.token.secret.key": "key",
    }


def prepare(address: tuple[str, int], context: ssl.SSLContext) -> None:
    """Topics, and the user with few rights: it reads and writes one topic, as a member of one group."""
    row = {"name": LOWLY.username, "mechanism": SHA_512.code, "iterations": 4096, "salt": SALT}
    row["salted_password"] = salted_password(SHA_512, LOWLY.password, SALT, 4096)
    rights = [
        entry(operation, kind, name, f"User:{LOWLY.username}", Permission.ALLOW, PatternType.LITERAL)
        for operation, kind, name in (
            (Operation.READ, ResourceType.TOPIC, "t"),
            (Operation.WRITE, ResourceType.TOPIC, "t"),
            (Operation.READ, ResourceType.GROUP, "g"),
        )
    ]
    with logged_in(address, context, ADMIN) as sock:
        create_topics(sock)
        made = ask(sock, Api.ALTER_USER_SCRAM_CREDENTIALS, 0, deletions=(), upsertions=[row])
        assert [result.error_code for result in made.results] == [0]
        granted = ask(sock, Api.CREATE_ACLS, 3, creations=rights)
        assert {result.error_code for result in granted.results} == {0}


def served_in(address: tuple[str, int], context: ssl.SSLContext) -> float:
    """How long a healthy client waits for TLS, its proof and an answer."""
    began = time.monotonic()
    with logged_in(address, context, LOWLY, HEALTHY_SECONDS) as sock:
        ask(sock, Api.METADATA, 4, topics=[{"name": "t"}], allow_auto_topic_creation=False)
    return time.monotonic() - began


@pytest.mark.claim("S1")
@pytest.mark.timeout(LONG_SECONDS + 300)
def test_mutated_frames_of_those_who_came_in_do_no_harm(
    tmp_path: Path, seed: int, long_form: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    authority, address = Authority(tmp_path), ("127.0.0.1", free_port())
    context = ssl.create_default_context(cafile=str(authority.path))
    listen = f"{address[0]}:{address[1]}"
    with BrokerProcess(str(tmp_path / "data"), secured_settings(authority, listen), listen) as broker:
        prepare(address, context)
        end = time.monotonic() + (LONG_SECONDS if long_form else SHORT_SECONDS)
        senders = [
            Sender(partial(logged_in, address, context, sasl), seed * 1000 + index, end)
            for index, sasl in enumerate((ADMIN, LOWLY) * 2)
        ]
        seen = run_senders(senders, end, broker.pid, partial(served_in, address, context))
        assert broker.stop() == 0
    out, err = capfd.readouterr()
    assert SURPRISE not in out + err, (out + err)[-4000:]
    print(seen)
