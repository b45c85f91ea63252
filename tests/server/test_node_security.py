"""How a node reaches other nodes, by the settings of its own listeners."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from penstock.security.client_settings import ClientSettings
from penstock.security.jaas import PLAIN_MODULE
from penstock.server.cluster.node_security import to_brokers, to_controllers
from penstock.settings import BrokerSettings
from penstock.settings.errors import SettingError
from penstock.testing import Broker

CLUSTER = {
    "controller.quorum.voters": "1@a:1,2@b:1",
    "controller.listener.names": "CONTROLLER",
    "listeners": "INSIDE://:1,CONTROLLER://:2",
    "listener.security.protocol.map": "INSIDE:SASL_PLAINTEXT,CONTROLLER:SSL",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.controller.ssl.keystore.location": "/node.p12",
    "log.dirs": "/data",
}
NODE = f'{PLAIN_MODULE} required username="node" password="secret" user_node="secret" user_alice="hers";'


def test_brokers_and_controllers_are_reached_as_their_listeners_say() -> None:
    texts = {**CLUSTER, "listener.name.inside.plain.sasl.jaas.config": NODE}
    settings = BrokerSettings.from_texts(texts)
    brokers, controllers = to_brokers(settings), to_controllers(settings)
    assert (brokers.security_protocol, controllers.security_protocol) == ("SASL_PLAINTEXT", "SSL")
    assert brokers.sasl is not None
    assert brokers.sasl.username == "node"
    assert controllers.tls is not None
    assert controllers.tls.identity is not None
    assert controllers.tls.identity.path == "/node.p12"


def test_a_node_that_could_not_reach_the_others_does_not_start() -> None:
    with pytest.raises(SettingError, match="username and a password"):
        to_brokers(BrokerSettings.from_texts(CLUSTER))


def test_a_node_that_is_alone_needs_no_credentials_for_itself() -> None:
    texts = {"listeners": "SASL_PLAINTEXT://127.0.0.1:0", "log.dirs": "/data"}
    assert to_brokers(BrokerSettings.from_texts(texts)) == ClientSettings()


def test_a_lone_broker_may_have_no_other_listener_than_one_with_passwords(tmp_path: Path) -> None:
    settings = {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": NODE,
    }
    with Broker(data=str(tmp_path), settings=settings) as broker:
        client = {
            "bootstrap.servers": broker.bootstrap_servers,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "alice",
            "log_level": 0,
        }
        assert AdminClient({**client, "sasl.password": "hers"}).list_topics(timeout=20).brokers
        with pytest.raises(KafkaException):
            AdminClient({**client, "sasl.password": "his"}).list_topics(timeout=2)


def test_a_listener_that_cannot_be_protected_is_not_served_without(tmp_path: Path) -> None:
    settings = {"listeners": "SSL://127.0.0.1:0", "ssl.keystore.location": str(tmp_path / "absent")}
    with pytest.raises(SettingError, match="listener SSL"):
        Broker(data=str(tmp_path / "data"), settings=settings).start()
