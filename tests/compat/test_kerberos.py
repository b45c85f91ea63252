"""Kerberos end to end: Kafka's own client and kcat come in with tickets of a KDC, and not without."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from penstock.settings import SettingError
from penstock.settings.security import STANDARD_AUTHORIZER
from penstock.testing import Broker
from tests.compat.kerberos import REALM, Kdc, why_no_kdc
from tests.peers.apache_kafka import QUICK_JAVA, free_port
from tests.peers.java_programs import JavaPrograms

SECONDS = 60.0
MODULE = "com.sun.security.auth.module.Krb5LoginModule"


class Kerberized:
    """A broker `kafka/localhost` that takes tickets, alice, who may describe the topic `t`, and carol."""

    def __init__(self, folder: Path, kdc: Kdc) -> None:
        self.folder, self.kdc = folder, kdc
        self.keytabs = {name: kdc.keytab(name) for name in ("kafka/localhost", "alice", "carol")}
        ports = {"PLAINTEXT": free_port(), "SASL": free_port()}
        listeners = ",".join(f"{name}://localhost:{port}" for name, port in ports.items())
        self.plain, self.sasl = (f"localhost:{port}" for port in ports.values())
        jaas = (
            f'{MODULE} required useKeyTab=true storeKey=true keyTab="{self.keytabs["kafka/localhost"]}" '
            f'principal="kafka/localhost@{REALM}";'
        )
        self.broker = Broker(
            settings={
                "listeners": listeners,
                "advertised.listeners": listeners,
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT",
                "sasl.enabled.mechanisms": "GSSAPI",
                "sasl.kerberos.service.name": "kafka",
                "listener.name.sasl.gssapi.sasl.jaas.config": jaas,
                "authorizer.class.name": STANDARD_AUTHORIZER,
                "super.users": "User:ANONYMOUS",
            }
        )

    def prepare(self) -> None:
        admin = AdminClient({"bootstrap.servers": self.plain})
        for future in admin.create_topics([NewTopic("t", 1, 1)]).values():
            future.result(SECONDS)
        entry = AclBinding(
            ResourceType.TOPIC,
            "t",
            ResourcePatternType.LITERAL,
            "User:alice",
            "*",
            AclOperation.DESCRIBE,
            AclPermissionType.ALLOW,
        )
        for future in admin.create_acls([entry]).values():
            future.result(SECONDS)


@pytest.fixture(scope="module")
def kerberized(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kerberized]:
    reason = why_no_kdc()
    if reason is None and importlib.util.find_spec("gssapi") is None:
        reason = "MIT's Kerberos has no package for Python here: pip install 'penstock[kerberos]'"
    if reason is not None:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("kerberos")
    with Kdc(folder, free_port()) as kdc, pytest.MonkeyPatch.context() as patch:
        patch.setenv("KRB5_CONFIG", str(kdc.config))
        found = Kerberized(folder, kdc)
        with found.broker:
            found.prepare()
            yield found


def java_lists(kerberized: Kerberized, programs: JavaPrograms, name: str, keytab: Path) -> tuple[int, str]:
    properties = kerberized.folder / f"{name}.properties"
    properties.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=GSSAPI\nsasl.kerberos.service.name=kafka\n"
        f'sasl.jaas.config={MODULE} required useKeyTab=true storeKey=true keyTab="{keytab}" '
        f'principal="{name}@{REALM}";\n'
    )
    command = [
        "java",
        *QUICK_JAVA,
        "-Dlog4j2.level=OFF",
        f"-Djava.security.krb5.conf={kerberized.kdc.config}",
    ]
    tool = ["org.apache.kafka.tools.TopicCommand", "--bootstrap-server", kerberized.sasl]
    done = subprocess.run(
        [*command, "-cp", programs.class_path, *tool, "--command-config", str(properties), "--list"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    return done.returncode, done.stdout + done.stderr


def test_kafkas_client_comes_in_as_the_user_of_its_ticket(
    kerberized: Kerberized, java_programs: JavaPrograms
) -> None:
    code, said = java_lists(kerberized, java_programs, "alice", kerberized.keytabs["alice"])
    assert (code, [line for line in said.split("\n") if line == "t"]) == (0, ["t"]), said
    code, said = java_lists(kerberized, java_programs, "carol", kerberized.keytabs["carol"])
    assert (code, "t" in said.split("\n")) == (0, False), said


def test_kcat_comes_in_with_a_ticket_and_not_without(kerberized: Kerberized) -> None:
    if shutil.which("kcat") is None:
        pytest.skip("kcat is not installed")

    def listed(tickets: str, keytab: Path | None) -> str:
        environment = {**kerberized.kdc.environment, "KRB5CCNAME": f"FILE:{kerberized.folder}/{tickets}"}
        if keytab is not None:
            subprocess.run(["kinit", "-k", "-t", str(keytab), "alice"], env=environment, check=True)
        options = {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "GSSAPI",
            "sasl.kerberos.service.name": "kafka",
            "sasl.kerberos.kinit.cmd": "true",
        }
        words = [word for name, value in options.items() for word in ("-X", f"{name}={value}")]
        command = ["kcat", "-b", kerberized.sasl, "-L", "-m", "3", *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS)
        return done.stdout + done.stderr

    assert 'topic "t"' in listed("alice", kerberized.keytabs["alice"])
    assert 'topic "t"' not in listed("nobody", None)


def test_a_keytab_without_the_principal_is_an_error_at_the_start(kerberized: Kerberized) -> None:
    other = kerberized.kdc.keytab("other")
    jaas = f'{MODULE} required useKeyTab=true keyTab="{other}" principal="kafka/localhost@{REALM}";'
    settings = {
        "listeners": "SASL://localhost:0",
        "listener.security.protocol.map": "SASL:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "GSSAPI",
        "listener.name.sasl.gssapi.sasl.jaas.config": jaas,
    }
    with pytest.raises(SettingError, match="cannot be used with the keytab"), Broker(settings=settings):
        pass
