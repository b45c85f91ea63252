"""Settings of a broker about who may do what. What `ssl.…`, `sasl.…` and `listener.name.…` say of each
listener is read by the server from the texts that were given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from penstock.settings import kinds
from penstock.settings.definition import setting
from penstock.settings.kinds import BOOLEAN, PASSWORD, STRING

OAUTH_ALLOWED_URLS: Final = "org.apache.kafka.sasl.oauthbearer.allowed.urls"
"""A property of the Java machine in Kafka. Here it is a setting, and may stand in KAFKA_OPTS as well."""
READ_ELSEWHERE: Final = (
    *("ssl.", "sasl.", "listener.name.", "connections.max.reauth.ms", OAUTH_ALLOWED_URLS),
    "config.providers",
)
"""How the names begin that are in no table: the server reads them for each listener, and `config_providers`
reads the last."""
STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecuritySettings:
    """The part of `BrokerSettings` that is about security."""

    # fmt: off
    authorizer_class_name: str = setting(
        "authorizer.class.name", kinds.one_of("", STANDARD_AUTHORIZER), "",
        "Kafka's StandardAuthorizer checks every request against access control entries; nothing allows all.")
    super_users: str = setting(
        "super.users", STRING, "",
        "Principals that may do everything, as User:admin;User:broker. Only with an authorizer.")
    allow_everyone_if_no_acl_found: bool = setting(
        "allow.everyone.if.no.acl.found", BOOLEAN, False,
        "Whether a resource that no access control entry names is open to everybody.")
    connection_failed_authentication_delay_ms: int = setting(
        "connection.failed.authentication.delay.ms", kinds.int_(0), 100,
        "How long the answer to a refused proof is held back.")
    sasl_mechanism_inter_broker_protocol: str = setting(
        "sasl.mechanism.inter.broker.protocol", STRING, "GSSAPI",
        "Mechanism by which this broker proves itself to other brokers.")
    sasl_mechanism_controller_protocol: str = setting(
        "sasl.mechanism.controller.protocol", STRING, "GSSAPI",
        "Mechanism by which this node proves itself to controllers.")
    delegation_token_secret_key: str | None = setting(
        "delegation.token.secret.key", PASSWORD, None,
        "Key from which delegation tokens are made, the same on every node. Empty means that there are none.")
    delegation_token_max_lifetime_ms: int = setting(
        "delegation.token.max.lifetime.ms", kinds.long(1), 604_800_000,
        "How long a delegation token can be renewed, from when it was made.")
    delegation_token_expiry_time_ms: int = setting(
        "delegation.token.expiry.time.ms", kinds.long(1), 86_400_000,
        "How long a delegation token holds before it must be renewed.")
    delegation_token_expiry_check_interval_ms: int = setting(
        "delegation.token.expiry.check.interval.ms", kinds.long(1), 3_600_000,
        "How often delegation tokens that have expired are removed.")
    # fmt: on

    @property
    def super_user_names(self) -> frozenset[str]:
        """As Kafka writes principals, such as `User:admin`."""
        return frozenset(name.strip() for name in self.super_users.split(";") if name.strip())
