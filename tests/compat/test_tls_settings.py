"""TLS as Java's settings describe it: versions and cipher suites of a listener, and stores that keytool has
made."""

from __future__ import annotations

import re
import shlex
import socket
import ssl
import subprocess
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from penstock.settings import SettingError
from penstock.testing import Broker
from tests.peers.apache_kafka import free_port
from tests.security.certificates import PASSWORD, Authority

SECONDS = 20.0
SUITE = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"


def listening(port: int, **settings: str) -> dict[str, str]:
    address = f"TLS://127.0.0.1:{port}"
    return {
        "listeners": address,
        "advertised.listeners": address,
        "listener.security.protocol.map": "TLS:SSL",
        **{name.replace("_", "."): value for name, value in settings.items()},
    }


def agreed(port: int, context: ssl.SSLContext) -> tuple[str, str]:
    """The version and the cipher suite that client and broker agree on."""
    with (
        socket.create_connection(("127.0.0.1", port), SECONDS) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as wrapped,
    ):
        cipher = wrapped.cipher()
        assert cipher is not None
        return wrapped.version() or "", cipher[0]


def test_a_listener_speaks_the_versions_and_suites_of_its_settings_only(tmp_path: Path) -> None:
    authority, port = Authority(tmp_path), free_port()
    server = authority.issue("broker")
    settings = listening(
        port,
        ssl_keystore_location=str(server.pkcs12),
        ssl_keystore_password=PASSWORD,
        ssl_cipher_suites=SUITE,
    )
    with Broker(settings=settings):
        context = ssl.create_default_context(cafile=str(authority.path))
        assert agreed(port, context) == ("TLSv1.2", "ECDHE-ECDSA-AES128-GCM-SHA256")
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        with pytest.raises(ssl.SSLError):
            agreed(port, context)
        other = ssl.create_default_context(cafile=str(authority.path))
        other.maximum_version = ssl.TLSVersion.TLSv1_2
        other.set_ciphers("ECDHE-ECDSA-AES256-GCM-SHA384")
        with pytest.raises(ssl.SSLError):
            agreed(port, other)


def keytool(*words: str) -> None:
    done = subprocess.run(["keytool", *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_store_of_java_is_refused_with_the_command_that_converts_it(tmp_path: Path) -> None:
    """The command of the message is run as it is; only the passwords, which keytool asks for, are added."""
    store, port = tmp_path / "broker.jks", free_port()
    passwords = ("-storepass", PASSWORD, "-keypass", PASSWORD)
    name = ("-alias", "broker", "-dname", "CN=broker", "-ext", "san=dns:localhost,ip:127.0.0.1")
    keytool("-genkeypair", "-keyalg", "EC", "-storetype", "JKS", "-keystore", str(store), *passwords, *name)
    pem = tmp_path / "broker.pem"
    keytool(
        "-exportcert", "-rfc", "-alias", "broker", "-keystore", str(store), "-file", str(pem), *passwords[:2]
    )
    settings = listening(port, ssl_keystore_location=str(store), ssl_keystore_password=PASSWORD)
    with pytest.raises(SettingError, match="JKS is not read") as refused, Broker(settings=settings):
        pass
    command = re.search(r"keytool (.*)$", str(refused.value))
    assert command is not None
    keytool(*shlex.split(command[1]), "-srcstorepass", PASSWORD, "-deststorepass", PASSWORD, "-noprompt")
    settings["ssl.keystore.location"] = str(store.with_suffix(".p12"))
    with Broker(settings=settings):
        client = {"security.protocol": "SSL", "ssl.ca.location": str(pem)}
        admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}", **client})
        assert admin.list_topics(timeout=SECONDS).brokers
