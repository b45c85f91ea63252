"""TLS as Java's settings describe it: versions and cipher suites of a listener, and stores that keytool has
made."""

from __future__ import annotations

import re
import shlex
import shutil
import socket
import ssl
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from penstock.client.admin import Admin
from penstock.settings import SettingError
from penstock.testing import Broker
from penstock.wire import java_stores
from tests.peers.apache_kafka import free_port
from tests.security.certificates import PASSWORD, Authority

SECONDS = 20.0
KEY_PASSWORD = "key-secret"
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


@dataclass(frozen=True)
class JavaStores:
    """What keytool has made: the store of a broker, its certificate as PEM and in a truststore."""

    keystore: Path
    pem: Path
    truststore: Path

    @classmethod
    def make(cls, folder: Path, kind: str) -> JavaStores:
        stores = cls(folder / "broker.jks", folder / "broker.pem", folder / "trust.jks")
        store, alias = ("-storetype", kind, "-storepass", PASSWORD), ("-alias", "broker")
        name = ("-dname", "CN=broker", "-ext", "san=dns:localhost,ip:127.0.0.1", "-keypass", KEY_PASSWORD)
        keytool("-genkeypair", "-keyalg", "EC", *store, *alias, *name, "-keystore", str(stores.keystore))
        keytool(
            "-exportcert", "-rfc", *store, *alias, "-keystore", str(stores.keystore), "-file", str(stores.pem)
        )
        keytool(
            "-importcert",
            "-noprompt",
            *store,
            *alias,
            "-file",
            str(stores.pem),
            "-keystore",
            str(stores.truststore),
        )
        return stores

    def settings(self, port: int) -> dict[str, str]:
        return listening(
            port,
            ssl_keystore_location=str(self.keystore),
            ssl_keystore_type="JKS",
            ssl_keystore_password=PASSWORD,
            ssl_key_password=KEY_PASSWORD,
        )


@pytest.fixture(scope="module")
def jks(tmp_path_factory: pytest.TempPathFactory) -> JavaStores:
    return JavaStores.make(tmp_path_factory.mktemp("jks"), "JKS")


def test_a_broker_and_our_clients_use_the_stores_of_java(jks: JavaStores) -> None:
    try_stores(jks)


@pytest.mark.long
def test_a_broker_and_our_clients_use_jceks(tmp_path: Path) -> None:
    try_stores(JavaStores.make(tmp_path, "JCEKS"))


def try_stores(stores: JavaStores) -> None:
    """The key has a password of its own; the truststore is read with and without its password."""
    port = free_port()
    with Broker(settings=stores.settings(port)):
        theirs = {"security.protocol": "SSL", "ssl.ca.location": str(stores.pem)}
        assert AdminClient({"bootstrap.servers": f"127.0.0.1:{port}", **theirs}).list_topics(timeout=SECONDS)
        for password in ({"ssl.truststore.password": PASSWORD}, {}):
            trust = {"ssl.truststore.location": str(stores.truststore), "ssl.truststore.type": "JKS"}
            ours = {"security.protocol": "SSL", **trust, **password}
            admin = Admin(f"127.0.0.1:{port}", timeout_s=SECONDS, settings=ours)
            assert admin.cluster().brokers


def test_a_wrong_password_of_a_java_store_is_an_error_at_the_start(jks: JavaStores) -> None:
    settings = jks.settings(free_port())
    for name in ("ssl.keystore.password", "ssl.key.password"):
        wrong = {**settings, name: "wrong-password"}
        with pytest.raises(SettingError, match="a password is wrong") as refused, Broker(settings=wrong):
            pass
        assert "wrong-password" not in str(refused.value)


def test_without_java_the_message_has_the_command_that_converts_a_store(
    jks: JavaStores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command of the message is run as it is; only the passwords, which keytool asks for, are added."""
    stores, port = replace(jks, keystore=Path(shutil.copy(jks.keystore, tmp_path))), free_port()
    settings = stores.settings(port)
    with monkeypatch.context() as nowhere:
        java_stores.as_pkcs12.cache_clear()
        nowhere.setattr(java_stores, "_keytool", lambda: None)
        with pytest.raises(SettingError, match="there is none here") as refused, Broker(settings=settings):
            pass
    command = re.search(r"(?s)name the new file: keytool (.*)$", str(refused.value))
    assert command is not None
    source = ("-srcstorepass", PASSWORD, "-srckeypass", KEY_PASSWORD, "-srcalias", "broker")
    keytool(*shlex.split(command[1]), *source, "-deststorepass", PASSWORD, "-noprompt")
    settings |= {
        "ssl.keystore.location": str(stores.keystore.with_suffix(".p12")),
        "ssl.keystore.type": "PKCS12",
    }
    del settings["ssl.key.password"]
    with Broker(settings=settings):
        client = {"security.protocol": "SSL", "ssl.ca.location": str(stores.pem)}
        admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}", **client})
        assert admin.list_topics(timeout=SECONDS).brokers
