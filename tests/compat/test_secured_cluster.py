"""Three nodes that trust nobody without proof: controllers are reached by certificates, brokers by TLS and a
password, clients by SCRAM, and the entries of the metadata log decide for all of them."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from penstock.cli.kafka.storage import storage
from penstock.protocol.apis import Api
from penstock.protocol.errors import ErrorCode
from penstock.security.client_settings import ClientSettings, Sasl, Store, Tls
from penstock.security.jaas import PLAIN_MODULE, SCRAM_MODULE
from penstock.settings.security import STANDARD_AUTHORIZER
from penstock.testing import Cluster
from penstock.wire.connection import Address, Connection
from penstock.wire.deadline import Deadline
from penstock.wire.errors import NotAuthenticated
from tests.peers.apache_kafka import free_port
from tests.security.certificates import PASSWORD, Authority

SECONDS = 60.0
NODE = f'{PLAIN_MODULE} required username="node" password="nodes" user_node="nodes";'


def secured(folder: Path) -> tuple[Cluster, str, Authority]:
    """The cluster, not started; the addresses for clients with a password. The harness itself comes in by a
    plain listener, as ANONYMOUS, and may do everything."""
    authority = Authority(folder)
    server = authority.issue("node")
    cluster = Cluster(folder / "nodes")
    addresses = []
    for node in cluster.brokers.values():
        inner, outer = (f"127.0.0.1:{free_port()}" for _ in range(2))
        addresses.append(outer)
        more = f"INTERNAL://{inner},CLIENTS://{outer}"
        node.properties |= {
            "listeners": f"{node.properties['listeners']},{more}",
            "advertised.listeners": f"{node.properties['advertised.listeners']},{more}",
            "listener.security.protocol.map": (
                "CONTROLLER:SSL,PLAINTEXT:PLAINTEXT,INTERNAL:SASL_SSL,CLIENTS:SASL_SSL"
            ),
            "inter.broker.listener.name": "INTERNAL",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "listener.name.internal.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.internal.plain.sasl.jaas.config": NODE,
            "listener.name.clients.sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.clients.scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required;",
            "listener.name.controller.ssl.client.auth": "required",
            "listener.name.controller.ssl.principal.mapping.rules": "RULE:^.*CN=([^,]+).*$/$1/",
            "ssl.keystore.location": str(server.pkcs12),
            "ssl.keystore.password": PASSWORD,
            "ssl.truststore.location": str(authority.path),
            "authorizer.class.name": STANDARD_AUTHORIZER,
            "super.users": "User:node;User:ANONYMOUS",
            "delegation.token.secret.key": "of every token",
        }
    return cluster, ",".join(addresses), authority


@pytest.mark.timeout(240)
def test_a_cluster_with_certificates_passwords_and_entries_serves_who_may(tmp_path: Path) -> None:
    cluster, addresses, authority = secured(tmp_path)
    with cluster:
        wish = UserScramCredentialUpsertion(
            "alice", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096), b"hers"
        )
        for set_ in cluster.admin.alter_user_scram_credentials([wish]).values():
            set_.result(SECONDS)
        cluster.create_topic("orders", 3)
        entries = [
            AclBinding(kind, name, ResourcePatternType.LITERAL, "User:alice", "*", operation, permission)
            for kind, name, operation in (
                (ResourceType.TOPIC, "orders", AclOperation.ALL),
                (ResourceType.GROUP, "billing", AclOperation.READ),
            )
            for permission in (AclPermissionType.ALLOW,)
        ]
        for made in cluster.admin.create_acls(entries).values():
            made.result(SECONDS)
        settings: dict[str, Any] = {
            "bootstrap.servers": addresses,
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(authority.path),
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": "alice",
            "sasl.password": "hers",
        }
        written = produced(settings, 300)
        cluster.brokers[2].stop()
        written += produced(settings, 300)
        cluster.brokers[2].start()
        assert consumed(settings, "billing", len(written)) == sorted(written)
        alice = AdminClient(settings)
        assert set(alice.list_topics(timeout=SECONDS).topics) == {"orders"}
        (refused,) = alice.create_topics([NewTopic("mine", 1, 1)]).values()  # forwarded with her name
        with pytest.raises(KafkaException, match="TOPIC_AUTHORIZATION_FAILED"):
            refused.result(SECONDS)
        try_tokens(addresses.split(","), authority)


def try_tokens(addresses: list[str], authority: Authority) -> None:
    """A token that was made by any node lets its holder in at every node, and no holder makes another one."""
    for maker in addresses:
        with_password = Sasl("SCRAM-SHA-512", "alice", "hers")
        made = create_token(maker, authority, with_password)
        assert made.error_code == 0
        password = base64.b64encode(made.hmac).decode()
        by_token = Sasl("SCRAM-SHA-512", made.token_id, password, (("tokenauth", "true"),))
        for address in addresses:
            refused = eventually(partial(create_token, address, authority, by_token))
            assert refused.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
            assert refused.principal_name == "alice"


def eventually(attempt: Callable[[], Any]) -> Any:
    """What is attempted, when it succeeds: a node learns of a token a moment after it was made."""
    end = time.monotonic() + SECONDS
    while True:
        try:
            return attempt()
        except NotAuthenticated:
            assert time.monotonic() < end
            time.sleep(0.05)


def create_token(address: str, authority: Authority, sasl: Sasl) -> Any:
    settings = ClientSettings(tls=Tls(trust=Store(str(authority.path))), sasl=sasl)
    deadline = Deadline(SECONDS)
    fields = {
        "owner_principal_type": None,
        "owner_principal_name": None,
        "renewers": (),
        "max_lifetime": -1,
    }
    connection = Connection(Address.parse(address), deadline, settings=settings)
    try:
        return connection.call(Api.CREATE_DELEGATION_TOKEN, fields, deadline, oldest=3, newest=3)
    finally:
        connection.close()


@pytest.mark.timeout(240)
def test_nodes_that_were_formatted_with_a_user_reach_each_other_by_scram(tmp_path: Path) -> None:
    """Nothing but SCRAM anywhere: the user of the nodes stands in what `kafka-storage format` has written."""
    cluster = Cluster(tmp_path / "nodes")
    jaas = f'{SCRAM_MODULE} required username="node" password="theirs";'
    addresses = []
    for number, node in cluster.brokers.items():
        clients = f"127.0.0.1:{free_port()}"
        addresses.append(clients)
        node.properties |= {
            "listeners": f"{node.properties['listeners']},CLIENTS://{clients}",
            "advertised.listeners": f"{node.properties['advertised.listeners']},CLIENTS://{clients}",
            "listener.security.protocol.map": (
                "CONTROLLER:SASL_PLAINTEXT,PLAINTEXT:PLAINTEXT,CLIENTS:SASL_PLAINTEXT"
            ),
            "inter.broker.listener.name": "CLIENTS",
            "sasl.enabled.mechanisms": "SCRAM-SHA-256",
            "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-256",
            "sasl.mechanism.controller.protocol": "SCRAM-SHA-256",
            "listener.name.clients.scram-sha-256.sasl.jaas.config": jaas,
            "listener.name.controller.scram-sha-256.sasl.jaas.config": jaas,
        }
        file = tmp_path / f"{number}.properties"
        file.write_text("\n".join(f"{name}={value}" for name, value in node.properties.items()))
        words = ("--cluster-id", node.properties["cluster.id"], "--config", str(file))
        assert storage(["format", *words, "-S", "SCRAM-SHA-256=[name=node,password=theirs]"]) == 0
    with cluster:
        cluster.create_topic("orders", 3)
        settings: dict[str, Any] = {
            "bootstrap.servers": ",".join(addresses),
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.username": "node",
            "sasl.password": "theirs",
        }
        written = produced(settings, 100)
        assert consumed(settings, "billing", len(written)) == sorted(written)


def produced(settings: dict[str, Any], count: int) -> list[bytes]:
    producer = Producer({**settings, "acks": "all", "enable.idempotence": True})
    errors: list[Any] = []
    values = [f"{time.monotonic_ns()}-{number}".encode() for number in range(count)]
    for value in values:
        producer.produce("orders", value, on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(SECONDS) == 0
    assert set(errors) == {None}
    return values


def consumed(settings: dict[str, Any], group: str, count: int) -> list[bytes]:
    consumer = Consumer({**settings, "group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    found: list[bytes] = []
    end = time.monotonic() + SECONDS
    while len(found) < count and time.monotonic() < end:
        found += [
            value
            for record in consumer.consume(500, 1.0)
            if record.error() is None and (value := record.value()) is not None
        ]
    consumer.close()
    return sorted(found)
