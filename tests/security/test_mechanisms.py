"""PLAIN and OAUTHBEARER on the server's side, rules for the names in certificates, settings of a listener."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from penstock.security.authentication import AuthenticationFailed, Proof
from penstock.security.client_settings import Store, Tls
from penstock.security.jaas import OAUTH_MODULE, PLAIN_MODULE, SCRAM_MODULE
from penstock.security.listener_settings import (
    JWKS_URL,
    ListenerSettingsError,
    Oauth,
    client_of_listener,
    listener_security,
)
from penstock.security.oauthbearer import OauthServer, unsecured
from penstock.security.plain import PlainServer
from penstock.security.principal_mapping import PrincipalMapping
from penstock.security.principals import user
from penstock.settings.security import OAUTH_ALLOWED_URLS

OAUTH = {"sasl.enabled.mechanisms": "OAUTHBEARER"}
KRB5 = 'com.sun.security.auth.module.Krb5LoginModule required keyTab="/k" principal="kafka/h@R";'
NOW_MS = 1_700_000_000_000


@pytest.mark.parametrize("message", [b"\x00alice\x00secret", b"alice\x00alice\x00secret"])
def test_the_right_password_passes(message: bytes) -> None:
    machine = PlainServer({"alice": "secret"})
    assert machine.respond(message) == b""
    assert machine.proof == Proof(user("alice"))


@pytest.mark.parametrize(
    "message",
    [
        b"\x00alice\x00wrong",
        b"\x00nobody\x00secret",
        b"bob\x00alice\x00secret",
        b"\x00alice\x00",
        b"\x00\x00secret",
        b"alice secret",
        b"\x00alice\x00secret\x00",
        b"\xff\x00\xff\x00\xff",
        b"",
    ],
)
def test_every_wrong_password_gets_the_same_words(message: bytes) -> None:
    machine = PlainServer({"alice": "secret", "empty": ""})
    with pytest.raises(AuthenticationFailed) as refused:
        machine.respond(message)
    assert str(refused.value) == "Authentication failed: Invalid username or password"
    assert machine.proof is None


def token(claims: dict[str, Any], header: dict[str, Any] | None = None, signature: str = "") -> str:
    parts = [header or {"alg": "none"}, claims]
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts]
    return ".".join([*encoded, signature])


GOOD = {"sub": "alice", "iat": NOW_MS / 1000 - 1, "exp": NOW_MS / 1000 + 60}


def oauth() -> OauthServer:
    return OauthServer(lambda text: unsecured(text, NOW_MS))


def test_a_token_proves_its_subject_until_it_ends() -> None:
    machine = oauth()
    assert machine.respond(f"n,,\x01auth=Bearer {token(GOOD)}\x01x=y\x01\x01".encode()) == b""
    assert machine.proof == Proof(user("alice"), NOW_MS + 60_000)


@pytest.mark.parametrize(
    "bad",
    [
        token({**GOOD, "exp": NOW_MS / 1000 - 1}),
        token({**GOOD, "iat": NOW_MS / 1000 + 60}),
        token({"exp": NOW_MS / 1000 + 60}),
        token({"sub": "alice"}),
        token(GOOD, {"alg": "HS256"}),
        token(GOOD, signature="abc"),
        "no.token",
        "!!",
    ],
)
def test_a_bad_token_is_refused_in_two_steps(bad: str) -> None:
    machine = oauth()
    assert json.loads(machine.respond(f"n,,\x01auth=Bearer {bad}\x01\x01".encode())) == {
        "status": "invalid_token"
    }
    assert machine.proof is None
    with pytest.raises(AuthenticationFailed):
        machine.respond(b"\x01")


@pytest.mark.parametrize("message", [b"", b"n,,\x01\x01", b"n,,\x01auth=Basic x\x01\x01", b"\x01"])
def test_a_message_of_another_form_ends_the_exchange(message: bytes) -> None:
    with pytest.raises(AuthenticationFailed):
        oauth().respond(message)


def test_a_token_does_not_speak_for_another() -> None:
    with pytest.raises(AuthenticationFailed):
        oauth().respond(f"n,a=bob,\x01auth=Bearer {token(GOOD)}\x01\x01".encode())


@pytest.mark.parametrize(
    ("rules", "name"),
    [
        ("DEFAULT", "CN=Alice,OU=Sales,O=X"),
        ("RULE:^CN=(.*?),OU=Sales.*$/$1/", "Alice"),
        ("RULE:^CN=(.*?),OU=Sales.*$/$1/L", "alice"),
        ("RULE:^CN=(.*?),OU=(.*?),.*$/$1@$2/U", "ALICE@SALES"),
        ("RULE:^CN=Bob.*$/bob/,RULE:^CN=(.*?),.*$/$1/,DEFAULT", "Alice"),
        ("RULE:^CN=Bob.*$/bob/, DEFAULT", "CN=Alice,OU=Sales,O=X"),
    ],
)
def test_the_first_rule_that_matches_names_the_user(rules: str, name: str) -> None:
    assert PrincipalMapping(rules).name_of("CN=Alice,OU=Sales,O=X") == name


@pytest.mark.parametrize("rules", ["NOTHING", "RULE:^CN=(.*)$", "DEFAULT DEFAULT", "RULE:a/b/Q"])
def test_rules_of_another_form_are_refused(rules: str) -> None:
    with pytest.raises(ValueError, match="mapping"):
        PrincipalMapping(rules)


def test_a_name_that_no_rule_matches_is_nobodys() -> None:
    with pytest.raises(ValueError, match="no rule"):
        PrincipalMapping("RULE:^CN=Bob$/bob/").name_of("CN=Alice")


PLAIN_USERS = (
    f'{PLAIN_MODULE} required username="node" password="hunter2" user_alice="x" user_node="hunter2";'
)


def test_a_listener_has_its_own_settings_before_the_common_ones() -> None:
    texts = {
        "sasl.enabled.mechanisms": "GSSAPI",
        "listener.name.mine.sasl.enabled.mechanisms": "PLAIN, SCRAM-SHA-512",
        "listener.name.mine.plain.sasl.jaas.config": PLAIN_USERS,
        "connections.max.reauth.ms": "5000",
        "listener.name.mine.scram-sha-512.connections.max.reauth.ms": "9000",
    }
    found = listener_security(texts, "MINE", "SASL_PLAINTEXT")
    assert found.mechanisms == ("PLAIN", "SCRAM-SHA-512")
    assert found.passwords == {"alice": "x", "node": "hunter2"}
    assert found.max_session_ms == {"PLAIN": 5000, "SCRAM-SHA-512": 9000}
    assert "hunter2" not in repr(found)
    client = client_of_listener(texts, "MINE", "SASL_PLAINTEXT", "PLAIN")
    assert client.sasl is not None
    assert (client.sasl.mechanism, client.sasl.username, client.sasl.password) == ("PLAIN", "node", "hunter2")


@pytest.mark.parametrize(
    ("protocol", "texts", "setting"),
    [
        ("SSL", {}, "ssl.keystore.location"),
        ("SSL", {"ssl.keystore.location": "x", "ssl.client.auth": "perhaps"}, "ssl.client.auth"),
        ("SSL", {"ssl.keystore.location": "x", "ssl.client.auth": "required"}, "ssl.truststore.location"),
        (
            "SSL",
            {"ssl.keystore.location": "x", "ssl.principal.mapping.rules": "?"},
            "ssl.principal.mapping.rules",
        ),
        ("SASL_PLAINTEXT", {"sasl.enabled.mechanisms": "CRAM-MD5"}, "sasl.enabled.mechanisms"),
        ("SASL_PLAINTEXT", {}, "sasl.jaas.config"),  # Kafka's default is GSSAPI
        (
            "SASL_PLAINTEXT",
            {
                "listener.name.l.gssapi.sasl.jaas.config": KRB5,
                "sasl.kerberos.principal.to.local.rules": "nonsense",
            },
            "sasl.kerberos.principal.to.local.rules",
        ),
        (
            "SASL_PLAINTEXT",
            {"listener.name.l.gssapi.sasl.jaas.config": KRB5, "sasl.kerberos.service.name": "other"},
            "sasl.kerberos.service.name",
        ),
        ("SASL_PLAINTEXT", {"sasl.enabled.mechanisms": "PLAIN"}, "sasl.jaas.config"),
        (
            "SASL_PLAINTEXT",
            {"sasl.enabled.mechanisms": "OAUTHBEARER"},
            "sasl.oauthbearer.jwks.endpoint.url",
        ),
        ("SASL_PLAINTEXT", {**OAUTH, JWKS_URL: "ftp://x/keys"}, JWKS_URL),
        (
            "SASL_PLAINTEXT",
            {**OAUTH, JWKS_URL: "https://a/keys", OAUTH_ALLOWED_URLS: "https://b/keys"},
            JWKS_URL,
        ),
        (
            "SASL_PLAINTEXT",
            {**OAUTH, JWKS_URL: "https://a/keys", "sasl.server.callback.handler.class": "com.me.Validator"},
            "sasl.server.callback.handler.class",
        ),
        (
            "SASL_PLAINTEXT",
            {**OAUTH, JWKS_URL: "https://a/keys", "sasl.oauthbearer.clock.skew.seconds": "few"},
            "sasl.oauthbearer.clock.skew.seconds",
        ),
        (
            "SASL_PLAINTEXT",
            {"sasl.enabled.mechanisms": "PLAIN", "listener.name.l.plain.sasl.jaas.config": "nonsense"},
            "listener.name.l.plain.sasl.jaas.config",
        ),
        (
            "SASL_PLAINTEXT",
            {"sasl.enabled.mechanisms": "SCRAM-SHA-256", "connections.max.reauth.ms": "soon"},
            "connections.max.reauth.ms",
        ),
    ],
)
def test_a_listener_that_cannot_be_protected_is_refused(
    protocol: str, texts: dict[str, str], setting: str
) -> None:
    with pytest.raises(ListenerSettingsError) as refused:
        listener_security(texts, "L", protocol)
    assert refused.value.setting == setting


def test_how_tokens_are_believed_is_read_from_kafkas_settings() -> None:
    prefix = "listener.name.l.oauthbearer."
    jaas = f'{OAUTH_MODULE} required ssl.truststore.location="/ca.pem";'
    texts = {
        **OAUTH,
        f"{prefix}{JWKS_URL}": "https://a/keys",
        f"{prefix}sasl.jaas.config": jaas,
        f"{prefix}sasl.server.callback.handler.class": (
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
        ),
        "sasl.oauthbearer.expected.audience": "a, b",
        "sasl.oauthbearer.expected.issuer": "i",
        "sasl.oauthbearer.scope.claim.name": "scp",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": "200",
        OAUTH_ALLOWED_URLS: "https://x/, https://a/keys",
    }
    oauth = listener_security(texts, "L", "SASL_PLAINTEXT").oauth
    assert oauth == Oauth(
        False,
        "https://a/keys",
        ("a", "b"),
        "i",
        scope_claim="scp",
        backoff_seconds=0.2,
        tls=Tls(Store("/ca.pem")),
    )


def test_nodes_need_credentials_to_reach_each_other() -> None:
    texts = {"listener.name.l.scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required;"}
    with pytest.raises(ListenerSettingsError, match="username and a password"):
        client_of_listener(texts, "L", "SASL_PLAINTEXT", "SCRAM-SHA-512")
