"""Three nodes with TLS and proofs everywhere, for the fault tests: controllers and the harness come in by
certificates, brokers among themselves and clients by SCRAM over TLS; access control entries decide."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Final

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from penstock.security.jaas import SCRAM_MODULE
from penstock.settings.security import STANDARD_AUTHORIZER
from penstock.testing.cluster import Cluster, Network
from tests.faults.clusters import QUICK
from tests.peers.apache_kafka import free_port
from tests.security.certificates import PASSWORD, Authority

SECONDS: Final = 60.0
NUMBERS: Final = (1, 2, 3)
NODES: Final = f'{SCRAM_MODULE} required username="node" password="nodes";'
INTERNAL_PORT, CLIENTS_PORT = 9094, 9095


class SecuredCluster(Cluster):
    """`bootstrap_servers` is for clients with SCRAM; the harness comes in by its own certificate."""

    def __init__(self, directory: Path, network: Network | None) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._folder = directory
        self.authority = Authority(directory)
        self._addresses = [network.address_of(number) for number in NUMBERS] if network else []
        self._server = self.authority.issue("node", addresses=self._addresses)
        harness = self.authority.issue("harness")
        super().__init__(
            directory / "nodes",
            settings=QUICK,
            network=network,
            properties={
                "security.protocol": "SSL",
                "ssl.truststore.location": str(self.authority.path),
                "ssl.keystore.location": str(harness.pem),
            },
        )
        self._clients: list[str] = []
        for node in self.brokers.values():
            host = node.address.rpartition(":")[0]
            inner = f"{host}:{INTERNAL_PORT if network else free_port()}"
            outer = f"{host}:{CLIENTS_PORT if network else free_port()}"
            self._clients.append(outer)
            node.properties |= self._secured(node.properties["listeners"], inner, outer)

    def _secured(self, listeners: str, inner: str, outer: str) -> dict[str, str]:
        own = listeners.replace("PLAINTEXT://", "HARNESS://")
        more = f"INTERNAL://{inner},CLIENTS://{outer}"
        harness = next(one for one in own.split(",") if one.startswith("HARNESS://"))
        found = {
            "listeners": f"{own},{more}",
            "advertised.listeners": f"{harness},{more}",
            "listener.security.protocol.map": (
                "CONTROLLER:SSL,HARNESS:SSL,INTERNAL:SASL_SSL,CLIENTS:SASL_SSL"
            ),
            "inter.broker.listener.name": "INTERNAL",
            "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
            "sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.internal.scram-sha-512.sasl.jaas.config": NODES,
            "listener.name.clients.scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required;",
            "ssl.keystore.location": str(self._server.pkcs12),
            "ssl.keystore.password": PASSWORD,
            "ssl.truststore.location": str(self.authority.path),
            "authorizer.class.name": STANDARD_AUTHORIZER,
            "super.users": "User:node;User:harness",
        }
        for name in ("controller", "harness"):
            found[f"listener.name.{name}.ssl.client.auth"] = "required"
            found[f"listener.name.{name}.ssl.principal.mapping.rules"] = "RULE:^.*CN=([^,]+).*$/$1/"
        return found

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(self._clients)

    def client(self, user: str = "alice") -> dict[str, Any]:
        """librdkafka's settings of a user; the password is the user's name twice."""
        return {
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(self.authority.path),
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": user,
            "sasl.password": user * 2,
        }

    def admit(self) -> None:
        """The users: the nodes themselves, alice, who may do everything, and mallory, who may do nothing."""
        for user, password in (("node", "nodes"), ("alice", "alicealice"), ("mallory", "mallorymallory")):
            info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
            wish = UserScramCredentialUpsertion(user, info, password.encode())
            for made in self.admin.alter_user_scram_credentials([wish]).values():
                made.result(SECONDS)
        kinds = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
        self.grant(*(entry("alice", kind, "*") for kind in kinds))

    def grant(self, *entries: AclBinding) -> None:
        for made in self.admin.create_acls(list(entries)).values():
            made.result(SECONDS)

    def revoke(self, *entries: AclBinding) -> None:
        wanted = [
            AclBindingFilter(
                each.restype,
                each.name,
                each.resource_pattern_type,
                each.principal,
                each.host,
                each.operation,
                each.permission_type,
            )
            for each in entries
        ]
        for gone in self.admin.delete_acls(wanted).values():
            gone.result(SECONDS)

    def rotate(self, number: int) -> None:
        """A new certificate and key for all nodes, put where the old ones are while they run."""
        fresh = self.authority.issue("node", addresses=self._addresses, file=f"node-{number}")
        place = self._server.pkcs12
        shutil.copy(fresh.pkcs12, place.with_suffix(".new"))
        place.with_suffix(".new").replace(place)


def entry(user: str, kind: Any, name: str, *, deny: bool = False) -> AclBinding:
    permission = AclPermissionType.DENY if deny else AclPermissionType.ALLOW
    return AclBinding(
        kind, name, ResourcePatternType.LITERAL, f"User:{user}", "*", AclOperation.ALL, permission
    )
