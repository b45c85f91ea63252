"""A server.properties with a listener for each protocol, which Apache Kafka and our broker both take."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping

from penstock.security.jaas import OAUTH_MODULE, PLAIN_MODULE, SCRAM_MODULE
from tests.security.certificates import PASSWORD, Authority, Issued

LISTENERS = ("PLAINTEXT", "SASL", "TLS", "MUTUAL", "BOTH")
MECHANISMS = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER"
SECRET = "pass,word="
UNSECURED = (
    "org.apache.kafka.common.security.oauthbearer.internals.unsecured."
    "OAuthBearerUnsecuredValidatorCallbackHandler"
)


def secured_properties(authority: Authority, server: Issued, ports: Mapping[str, int]) -> dict[str, str]:
    """`alice` may come in by every mechanism with the password `SECRET`; sessions of SCRAM-SHA-256 end after
    two seconds."""
    listeners = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())
    settings = {
        "listeners": listeners,
        "advertised.listeners": listeners,
        "listener.security.protocol.map": (
            "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,TLS:SSL,MUTUAL:SSL,BOTH:SASL_SSL"
        ),
        "sasl.enabled.mechanisms": MECHANISMS,
        "ssl.keystore.location": str(server.pkcs12),
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.password": PASSWORD,
        "ssl.truststore.location": str(authority.path),
        "ssl.truststore.type": "PEM",
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.mutual.ssl.principal.mapping.rules": "RULE:^.*CN=([^,]+).*$/$1/L,DEFAULT",
    }
    for name in ("sasl", "both"):
        prefix = f"listener.name.{name}."
        settings[f"{prefix}plain.sasl.jaas.config"] = f'{PLAIN_MODULE} required user_alice="{SECRET}";'
        for mechanism in ("scram-sha-256", "scram-sha-512"):
            settings[f"{prefix}{mechanism}.sasl.jaas.config"] = f"{SCRAM_MODULE} required;"
        settings[f"{prefix}oauthbearer.sasl.jaas.config"] = f"{OAUTH_MODULE} required;"
        settings[f"{prefix}oauthbearer.sasl.server.callback.handler.class"] = UNSECURED
        settings[f"{prefix}scram-sha-256.connections.max.reauth.ms"] = "2000"
    return settings


def unsecured_token(seconds: int = 60) -> str:
    now = int(time.time())
    parts = [{"alg": "none"}, {"sub": "alice", "iat": now - 1, "exp": now + seconds}]
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts]
    return ".".join([*encoded, ""])
