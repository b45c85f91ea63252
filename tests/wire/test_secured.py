"""The wire client with TLS and SASL, on Apache Kafka and on our broker: each mechanism, and each refusal.
Both brokers get the same properties."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from penstock.protocol.apis import Api
from penstock.security.client_settings import ClientSettings
from penstock.security.jaas import OAUTH_MODULE, PLAIN_MODULE, SCRAM_MODULE
from penstock.testing import Broker
from penstock.wire.cluster import Cluster
from penstock.wire.connection import Address, Connection
from penstock.wire.deadline import Deadline
from penstock.wire.errors import NotAuthenticated
from tests.peers.apache_kafka import ApacheKafka, Unavailable, free_port, jars
from tests.security.certificates import PASSWORD, Authority
from tests.security.properties import LISTENERS, secured_properties, unsecured_token

SECONDS = 20.0
CLUSTER = {"include_cluster_authorized_operations": False, "endpoint_type": 1}


class Secured:
    """A broker with a listener for each protocol."""

    def __init__(self, broker: str, folder: Path) -> None:
        self.authority = Authority(folder)
        self.client = self.authority.issue("alice")
        self.stranger = Authority(folder, "another-authority").issue("mallory")
        self.ports = {name: free_port() for name in LISTENERS}
        settings = secured_properties(self.authority, self.authority.issue("broker"), self.ports)
        self.node: ApacheKafka | Broker
        if broker == "apache":
            self.node = ApacheKafka(settings)
            controller = f"CONTROLLER://127.0.0.1:{self.node.controller_port}"
            self.node.settings["listeners"] = f"{settings['listeners']},{controller}"
            self.node.bootstrap_servers = f"127.0.0.1:{self.ports['PLAINTEXT']}"
        else:
            self.node = Broker(settings=settings)

    def add_users(self) -> None:
        admin = AdminClient({"bootstrap.servers": self.node.bootstrap_servers})
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            wish = UserScramCredentialUpsertion("alice", ScramCredentialInfo(mechanism, 4096), b"pass,word=")
            for future in admin.alter_user_scram_credentials([wish]).values():
                future.result(SECONDS)

    def connect(self, listener: str, **properties: str) -> Connection:
        named = {name.replace("_", "."): value for name, value in properties.items()}
        settings = ClientSettings.from_properties(named)
        return Connection(Address("127.0.0.1", self.ports[listener]), Deadline(SECONDS), settings=settings)


@pytest.fixture(scope="module", params=["penstock", "apache"])
def secured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    if request.param == "apache":
        try:
            jars()
        except Unavailable as reason:
            pytest.skip(str(reason))
    broker = Secured(request.param, tmp_path_factory.mktemp("tls"))
    with broker.node:
        broker.add_users()
        yield broker


def works(connection: Connection) -> bool:
    answer = connection.call(Api.DESCRIBE_CLUSTER, CLUSTER, Deadline(SECONDS), oldest=0, newest=1)
    return not answer.error_code and connection.idle


def jaas(mechanism: str, password: str = "pass,word=") -> str:
    module = PLAIN_MODULE if mechanism == "PLAIN" else SCRAM_MODULE
    return f'{module} required username="alice" password="{password}";'


@pytest.mark.parametrize("listener", ["SASL", "BOTH"])
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_password_opens_the_door(secured: Secured, listener: str, mechanism: str) -> None:
    connection = secured.connect(
        listener,
        security_protocol="SASL_PLAINTEXT" if listener == "SASL" else "SASL_SSL",
        ssl_truststore_location=str(secured.authority.path),
        sasl_mechanism=mechanism,
        sasl_jaas_config=jaas(mechanism),
    )
    assert works(connection)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_wrong_password_is_refused_once_and_for_all(secured: Secured, mechanism: str) -> None:
    with pytest.raises(NotAuthenticated) as refused:
        secured.connect(
            "SASL",
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism=mechanism,
            sasl_jaas_config=jaas(mechanism, "wrong"),
        )
    assert not refused.value.retriable
    assert "wrong" not in str(refused.value)


def test_a_token_opens_the_door_and_an_expired_one_does_not(secured: Secured) -> None:
    def connect(token: str) -> Connection:
        return secured.connect(
            "SASL",
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="OAUTHBEARER",
            sasl_jaas_config=f'{OAUTH_MODULE} required token="{token}";',
        )

    assert works(connect(unsecured_token()))
    with pytest.raises(NotAuthenticated):
        connect(unsecured_token(-60))


def test_a_mechanism_that_the_listener_does_not_have_is_named(secured: Secured) -> None:
    with pytest.raises(NotAuthenticated, match="offer"):
        secured.connect(
            "PLAINTEXT",
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="PLAIN",
            sasl_jaas_config=jaas("PLAIN"),
        )


def test_a_session_that_ends_is_renewed_while_it_is_used(secured: Secured) -> None:
    connection = secured.connect(
        "SASL",
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="SCRAM-SHA-256",
        sasl_jaas_config=jaas("SCRAM-SHA-256"),
    )
    end = time.monotonic() + 5.0  # two sessions and a half
    while time.monotonic() < end:
        assert works(connection)
        time.sleep(0.1)  # the broker ends a session by its own clock


def test_tls_with_an_authority_and_with_a_certificate_of_our_own(secured: Secured) -> None:
    trust = {"security_protocol": "SSL", "ssl_truststore_location": str(secured.authority.path)}
    assert works(secured.connect("TLS", **trust))
    pem = {
        "ssl_keystore_certificate_chain": secured.client.certificate_pem,
        "ssl_keystore_key": secured.client.encrypted_key_pem,
        "ssl_key_password": PASSWORD,
    }
    pkcs12 = {"ssl_keystore_location": str(secured.client.pkcs12), "ssl_keystore_password": PASSWORD}
    file = {"ssl_keystore_location": str(secured.client.pem)}
    for identity in (pem, pkcs12, file):
        assert works(secured.connect("MUTUAL", **trust, **identity))


def test_a_server_that_nobody_vouches_for_is_refused(secured: Secured, tmp_path: Path) -> None:
    other = Authority(tmp_path, "other")
    with pytest.raises(NotAuthenticated, match=r"certificate of .* is refused"):
        secured.connect("TLS", security_protocol="SSL", ssl_truststore_location=str(other.path))


def test_a_client_without_the_certificate_that_is_wanted_is_told_so(secured: Secured) -> None:
    trust = {"security_protocol": "SSL", "ssl_truststore_location": str(secured.authority.path)}
    for identity in ({}, {"ssl_keystore_location": str(secured.stranger.pem)}):
        with pytest.raises(NotAuthenticated):
            secured.connect("MUTUAL", **trust, **identity)


def test_a_plain_listener_asked_for_tls_is_named_as_the_likely_mistake(secured: Secured) -> None:
    with pytest.raises(NotAuthenticated, match="TLS listener"):
        secured.connect(
            "PLAINTEXT", security_protocol="SSL", ssl_truststore_location=str(secured.authority.path)
        )


def test_a_cluster_is_reached_as_its_settings_say_and_large_requests_pass(secured: Secured) -> None:
    settings = ClientSettings.from_properties(
        {
            "bootstrap.servers": f"127.0.0.1:{secured.ports['BOTH']}",
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": jaas("SCRAM-SHA-512"),
            "ssl.truststore.certificates": secured.authority.pem,
        }
    )
    cluster = Cluster.of(settings)
    assert cluster.brokers(Deadline(SECONDS)) == [1]
    names = [f"topic-{number:06d}" for number in range(5_000)]
    assert cluster.topics(names, Deadline(SECONDS)) == {}
    cluster.close()
