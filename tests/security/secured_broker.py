"""Our broker with a listener for each protocol, and the properties that a client needs for each."""

from __future__ import annotations

from pathlib import Path

from confluent_kafka.admin import (
    AdminClient,
    NewTopic,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from penstock.security.jaas import OAUTH_MODULE, PLAIN_MODULE, SCRAM_MODULE
from penstock.testing import Broker
from tests.peers.apache_kafka import free_port
from tests.security.certificates import PASSWORD, Authority
from tests.security.properties import LISTENERS, SECRET, secured_properties

SECONDS = 20.0
PASSWORDS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


class SecuredBroker:
    """`alice` comes in by every mechanism with the password `SECRET`, or with her certificate."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = Authority(folder)
        self.server = self.authority.issue("broker")
        self.client = self.authority.issue("alice")
        self.ports = {name: free_port() for name in LISTENERS}
        self.broker = Broker(settings=secured_properties(self.authority, self.server, self.ports))

    def address(self, listener: str) -> str:
        return f"127.0.0.1:{self.ports[listener]}"

    def prepare(self, *topics: str) -> None:
        """Passwords of `alice`, and topics; by the listener that asks for nothing."""
        admin = AdminClient({"bootstrap.servers": self.address("PLAINTEXT")})
        for kind in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            wish = UserScramCredentialUpsertion("alice", ScramCredentialInfo(kind, 4096), SECRET.encode())
            for future in admin.alter_user_scram_credentials([wish]).values():
                future.result(SECONDS)
        for future in admin.create_topics([NewTopic(topic, 1, 1) for topic in topics]).values():
            future.result(SECONDS)

    def properties(
        self, listener: str, mechanism: str = "SCRAM-SHA-512", password: str = SECRET
    ) -> dict[str, str]:
        """Kafka's properties of a client of this listener."""
        trust = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.authority.path)}
        if listener == "PLAINTEXT":
            return {}
        if listener == "TLS":
            return {"security.protocol": "SSL", **trust}
        if listener == "MUTUAL":
            identity = {
                "ssl.keystore.type": "PKCS12",
                "ssl.keystore.location": str(self.client.pkcs12),
                "ssl.keystore.password": PASSWORD,
                "ssl.key.password": PASSWORD,
            }
            return {"security.protocol": "SSL", **trust, **identity}
        sasl = {"sasl.mechanism": mechanism, "sasl.jaas.config": jaas(mechanism, password)}
        if listener == "SASL":
            return {"security.protocol": "SASL_PLAINTEXT", **sasl}
        return {"security.protocol": "SASL_SSL", **trust, **sasl}

    def file(self, listener: str, mechanism: str = "SCRAM-SHA-512", password: str = SECRET) -> str:
        """The same as a file, for `--command-config`."""
        path = self.folder / f"{listener}-{mechanism}-{password == SECRET}.properties"
        properties = self.properties(listener, mechanism, password)
        path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        return str(path)


def jaas(mechanism: str, password: str = SECRET) -> str:
    if mechanism == "OAUTHBEARER":
        return f'{OAUTH_MODULE} required unsecuredLoginStringClaim_sub="alice";'
    module = PLAIN_MODULE if mechanism == "PLAIN" else SCRAM_MODULE
    return f'{module} required username="alice" password="{password}";'
