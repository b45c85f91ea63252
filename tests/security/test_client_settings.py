"""Kafka's settings of a client as one value."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from penstock.security.client_settings import ClientSettings, ClientSettingsError, Sasl, Store
from penstock.security.jaas import OAUTH_MODULE, PLAIN_MODULE, SCRAM_MODULE
from penstock.security.keystores import KeystoreError, read_identity, read_trusted
from penstock.security.oauth_login import OauthLogin
from tests.security.certificates import PASSWORD, Authority

PLAIN = f'{PLAIN_MODULE} required username="alice" password="hunter2";'


def test_without_settings_the_connection_is_plain() -> None:
    settings = ClientSettings.from_properties({"bootstrap.servers": "a:1", "acks": "all"})
    assert settings == ClientSettings("a:1")
    assert settings.security_protocol == "PLAINTEXT"


def test_a_file_of_a_real_client_is_taken_as_it_is() -> None:
    settings = ClientSettings.from_properties(
        {
            "bootstrap.servers": "a:1",
            "security.protocol": "sasl_ssl",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": PLAIN,
            "ssl.truststore.location": "/t.p12",
            "ssl.truststore.password": "hunter3",
            "ssl.keystore.certificate.chain": "CHAIN",
            "ssl.keystore.key": "KEY",
            "ssl.endpoint.identification.algorithm": "",
            "client.id": "mine",
        }
    )
    assert settings.security_protocol == "SASL_SSL"
    assert settings.sasl == Sasl("PLAIN", "alice", "hunter2")
    assert settings.tls is not None
    assert settings.tls.trust == Store("/t.p12", password="hunter3")
    assert settings.tls.identity == Store(pem="CHAIN", key_pem="KEY")
    assert not settings.tls.check_hostname
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert {settings: 1}[settings] == 1
    assert not any(secret in repr(settings) for secret in ("hunter2", "hunter3", "KEY"))


def test_a_token_and_its_extensions() -> None:
    jaas = f'{OAUTH_MODULE} required token="abc" extension_cluster="x";'
    properties = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"}
    settings = ClientSettings.from_properties({**properties, "sasl.jaas.config": jaas})
    login = OauthLogin(token="abc")
    assert settings.sasl == Sasl("OAUTHBEARER", extensions=(("cluster", "x"),), login=login)


@pytest.mark.parametrize(
    ("properties", "sentence"),
    [
        ({"security.protocol": "TLS"}, "security.protocol is 'TLS'"),
        ({"security.protocol": "SASL_SSL"}, "sasl.mechanism is 'GSSAPI'"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "sasl.jaas.config is missing"),
        ({"security.protocol": "SSL", "ssl.cipher.suites": "x"}, "ssl.cipher.suites cannot be honoured"),
        (
            {"security.protocol": "SSL", "ssl.keystore.location": "x", "ssl.keystore.type": "BKS"},
            "PEM, PKCS12",
        ),
        (
            {"security.protocol": "SSL", "ssl.truststore.location": "x", "ssl.truststore.certificates": "y"},
            "exclude each other",
        ),
        ({"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": "ldap"}, "write https"),
        (
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": f'{SCRAM_MODULE} required username="a" password="hunter2";',
            },
            "PLAIN needs",
        ),
        (
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": f'{PLAIN_MODULE} required password="hunter2";',
            },
            "username and password",
        ),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_name(properties: dict[str, str], sentence: str) -> None:
    with pytest.raises(ClientSettingsError, match=sentence) as refused:
        ClientSettings.from_properties(properties)
    assert "hunter2" not in str(refused.value)


def test_a_keystore_is_read_whatever_its_form(tmp_path: Path) -> None:
    issued = Authority(tmp_path).issue("alice")
    for data in (issued.pem.read_bytes(), issued.pkcs12.read_bytes()):
        identity = read_identity(data, PASSWORD, None)
        assert issued.certificate_pem.encode() in identity.chain
        assert b"PRIVATE KEY" in identity.key
    assert issued.certificate_pem.encode() in read_trusted(issued.pkcs12.read_bytes(), PASSWORD)


def test_a_keystore_that_cannot_be_read_says_why_and_shows_nothing(tmp_path: Path) -> None:
    issued = Authority(tmp_path).issue("alice")
    with pytest.raises(KeystoreError, match="password is wrong"):
        read_identity(issued.pkcs12.read_bytes(), "hunter2", None)
    with pytest.raises(KeystoreError, match="keytool -importkeystore"):
        read_identity(b"\xfe\xed\xfe\xed\x00\x00\x00\x02", "hunter2", None)
