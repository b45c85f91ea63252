"""Our own connection is secured by the settings that librdkafka is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.client.direct import client_settings
from penstock.security.client_settings import ClientSettings, Sasl


def test_without_security_settings_the_connection_is_plain() -> None:
    assert client_settings({"socket.timeout.ms": 5}) == ClientSettings()


@pytest.mark.parametrize("name", ["sasl.mechanism", "sasl.mechanisms"])
def test_users_and_passwords_are_those_of_librdkafka(name: str) -> None:
    given = {
        "security.protocol": "sasl_plaintext",
        name: "SCRAM-SHA-512",
        "sasl.username": "ada",
        "sasl.password": "secret",
    }
    found = client_settings(given)
    assert found.sasl == Sasl("SCRAM-SHA-512", "ada", "secret")
    assert found.security_protocol == "SASL_PLAINTEXT"
    assert "secret" not in repr(found)


def test_certificates_are_read_from_their_files(tmp_path: Path) -> None:
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    chain.write_text("CHAIN")
    key.write_text("KEY")
    found = client_settings(
        {
            "security.protocol": "SSL",
            "ssl.ca.location": "ca.pem",
            "ssl.certificate.location": str(chain),
            "ssl.key.location": str(key),
            "ssl.endpoint.identification.algorithm": "none",
        }
    )
    assert found.tls is not None
    assert found.tls.trust is not None
    assert found.tls.identity is not None
    assert (found.tls.trust.path, found.tls.check_hostname) == ("ca.pem", False)
    assert (found.tls.identity.pem, found.tls.identity.key_pem) == ("CHAIN", "KEY")


def test_the_names_of_javas_client_are_understood() -> None:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    jaas = f'{module} required username="ada" password="secret";'
    found = client_settings(
        {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas}
    )
    assert found.sasl == Sasl("PLAIN", "ada", "secret")
