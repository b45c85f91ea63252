"""S5: every secret is a canary. Every answer of every API and route, every page, log, error and command line,
and the metadata are searched for them: none is found."""

from __future__ import annotations

import base64
import ssl
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from penstock.protocol.apis import Api
from penstock.security.client_settings import ClientSettings, ClientSettingsError, Sasl
from penstock.security.jaas import PLAIN_MODULE, JaasError, parse_jaas
from penstock.security.scram import SHA_512, salted_password
from tests.doors.test_every_route import OWN, path_of, tables
from tests.fuzz.requests import RequestMaker, served_versions
from tests.security.canaries import Haystack, command_lines
from tests.security.certificates import PASSWORD
from tests.security.guarded_services import (
    MARK,
    PASSWORDS,
    TOKEN_KEY,
    GuardedBroker,
    ServiceProcess,
)
from tests.security.raw_login import logged_in
from tests.server.wire_bytes import ask, framed, receive

SALT = b"0123456789abcdef"
WRONG = f"wrong-{MARK}"
CONNECTOR = f"connector-{MARK}"
EXPORTER = f"exporter:{MARK}"
OAUTH = f"oauth-client-{MARK}"
DYNAMIC = f"dynamic-{MARK}"
SCRAM = f"scram-{MARK}"
STATEMENT = f"statement-{MARK}"
FILED = f"filed-{MARK}"
BEARER = f"ey.{MARK}.signature"
PASSWORD_SETTINGS = (
    "ssl.keystore.password",
    "ssl.key.password",
    "ssl.keystore.key",
    "listener.name.both.ssl.keystore.password",
    "listener.name.both.plain.sasl.jaas.config",
    "sasl.jaas.config",
    "delegation.token.secret.key",
    "retention.ms",
)
ADMIN = ("admin", PASSWORDS["admin"])
PAGES = ("", "topics", "topics/alices", "groups", "brokers", "schemas", "connectors", "connectors/leaky",
         "sql", "pipelines", "transactions", "alerts")  # fmt: skip


@pytest.fixture(scope="module")
def haystack() -> Haystack:
    return Haystack()


@pytest.fixture(scope="module")
def secrets() -> list[bytes | str]:
    """All that hold the mark are found by it; others are added as they become known."""
    basic = [f"{user}:{password}" for user, password in (*PASSWORDS.items(), ("admin", WRONG))]
    plain = [*PASSWORDS.values(), WRONG, CONNECTOR, EXPORTER, OAUTH, DYNAMIC, SCRAM, STATEMENT, FILED, BEARER]
    return [MARK, PASSWORD, TOKEN_KEY, *basic, *plain]


class AdminConnection:
    """Of the administrator; made anew when a request has ended it."""

    def __init__(self, guarded: GuardedBroker) -> None:
        host, _, port = guarded.address.rpartition(":")
        self._address = (host, int(port))
        self._context = ssl.create_default_context(cafile=str(guarded.authority.path))
        self.sock = self.open(Sasl("PLAIN", *ADMIN))

    def open(self, sasl: Sasl) -> ssl.SSLSocket:
        return logged_in(self._address, self._context, sasl)

    def send(self, frame: bytes) -> bytes:
        """The answer; nothing when there is none soon."""
        try:
            self.sock.settimeout(0.3)
            self.sock.sendall(framed(frame))
            (size,) = struct.unpack(">i", receive(self.sock, 4))
            return receive(self.sock, size)
        except OSError:
            self.sock.close()
            self.sock = self.open(Sasl("PLAIN", *ADMIN))
            return b""

    def ask(self, api: Api, version: int, **fields: Any) -> Any:
        self.sock.settimeout(20)
        return ask(self.sock, api, version, **fields)


@pytest.mark.claim("S5")
def test_no_answer_of_the_broker_holds_a_secret(
    guarded: GuardedBroker, haystack: Haystack, secrets: list[bytes | str], seed: int
) -> None:
    connection = AdminConnection(guarded)
    salted = salted_password(SHA_512, SCRAM, SALT, 4096)
    row = {"name": "carol", "mechanism": SHA_512.code, "iterations": 4096, "salt": SALT}
    made = connection.ask(
        Api.ALTER_USER_SCRAM_CREDENTIALS, 0, deletions=(), upsertions=[{**row, "salted_password": salted}]
    )
    assert made.results[0].error_code == 0
    token = connection.ask(
        Api.CREATE_DELEGATION_TOKEN, 3, owner_principal_type="User", owner_principal_name="alice",
        renewers=(), max_lifetime=-1,
    )  # fmt: skip
    assert token.error_code == 0
    secrets += [salted, bytes(token.hmac), base64.b64encode(bytes(token.hmac))]
    connection.open(Sasl("SCRAM-SHA-512", "carol", SCRAM)).close()
    hmac = base64.b64encode(bytes(token.hmac)).decode()
    connection.open(Sasl("SCRAM-SHA-512", token.token_id, hmac, (("tokenauth", "true"),))).close()
    for mechanism in ("PLAIN", "SCRAM-SHA-512"):
        with pytest.raises(ConnectionError) as refused:
            connection.open(Sasl(mechanism, "admin", WRONG))
        haystack.add(f"refusal of {mechanism}", str(refused.value))
    for said in (*change_passwords(connection), *every_api(connection, seed)):
        haystack.add(*said)
    assert "\n".join(haystack.leaks(secrets)) == ""
    print(f"{len(haystack.straws)} answers, {haystack.size} bytes")


def change_passwords(connection: AdminConnection) -> Iterator[tuple[str, bytes]]:
    """Settings of type password, given anew: whatever is answered does not repeat them."""
    for kind, name in ((4, "1"), (4, ""), (2, "alices"), (8, "1")):
        for setting in PASSWORD_SETTINGS:
            config = {"name": setting, "config_operation": 0, "value": DYNAMIC}
            resource = {"resource_type": kind, "resource_name": name, "configs": [config]}
            said = connection.ask(
                Api.INCREMENTAL_ALTER_CONFIGS,
                1,
                resources=[resource],
                validate_only=setting == "retention.ms",
            )
            if setting != "retention.ms":  # its error repeats what is no secret
                yield f"IncrementalAlterConfigs {setting}", repr(said).encode()
        wanted = {"resource_type": kind, "resource_name": name, "configuration_keys": None}
        for version in (1, 4):
            described = connection.ask(
                Api.DESCRIBE_CONFIGS, version, resources=[wanted], include_synonyms=True,
                **({"include_documentation": True} if version >= 3 else {}),
            )  # fmt: skip
            yield f"DescribeConfigs v{version} of {kind} {name}", repr(described).encode()


def every_api(connection: AdminConnection, seed: int) -> Iterator[tuple[str, bytes]]:
    random = Random(seed)
    for api, version in served_versions():
        if api in (Api.CREATE_DELEGATION_TOKEN, Api.DESCRIBE_DELEGATION_TOKEN):
            continue  # their answers hold the HMAC: that is what they are for
        yield f"{api.name} v{version}", connection.send(RequestMaker(random).frame(api, version))


@pytest.fixture(scope="module")
def https(guarded: GuardedBroker) -> Iterator[httpx.Client]:
    context = ssl.create_default_context(cafile=str(guarded.authority.path))
    with httpx.Client(verify=context, timeout=60) as client:
        yield client


def added(haystack: Haystack, answer: httpx.Response) -> httpx.Response:
    headers = "\n".join(f"{name}: {value}" for name, value in answer.headers.items())
    haystack.add(
        f"{answer.request.method} {answer.request.url} ({answer.status_code})", headers + "\n" + answer.text
    )
    return answer


@pytest.mark.claim("S5")
@pytest.mark.parametrize("name", ["registry", "rest", "sql", "connect"])
def test_no_answer_of_a_service_holds_a_secret(
    name: str,
    guarded: GuardedBroker,
    request: pytest.FixtureRequest,
    https: httpx.Client,
    haystack: Haystack,
    secrets: list[bytes | str],
) -> None:
    service: ServiceProcess = request.getfixturevalue(name)
    if name in PLANTERS:
        PLANTERS[name](service, guarded, https, haystack)
    callers: list[dict[str, Any]] = [
        {},
        {"auth": ("admin", WRONG)},
        {"headers": {"Authorization": f"Bearer {BEARER}"}},
        {"auth": ADMIN},
    ]
    for caller in callers:
        for route in (*tables()[name], *OWN):
            if route.method in ("GET", "POST", "PUT"):
                url = service.url + path_of(route, "x").replace("/none", "/leaky")
                added(haystack, https.request(route.method, url, **caller))
    assert "\n".join(haystack.leaks(secrets)) == ""


def plant_connectors(
    service: ServiceProcess, guarded: GuardedBroker, https: httpx.Client, haystack: Haystack
) -> None:
    """A connector with passwords as they are, in an address, and from a provider. It does not run."""
    file = guarded.folder / "provided" / "connector.properties"
    file.write_text(f"key={FILED}\n")
    file.chmod(0o600)
    jaas = f'sasl.jaas.config={PLAIN_MODULE} required username="x" password="{CONNECTOR}";'
    config = {
        "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector",
        "connection.url": f"jdbc:postgresql://127.0.0.1:1/db?password={CONNECTOR}",
        "connection.user": "user",
        "connection.password": CONNECTOR,
        "mode": "bulk",
        "topic.prefix": "leaky-",
        "producer.override.sasl.jaas.config": jaas,
        "value.converter.basic.auth.user.info": f"user:{CONNECTOR}",
        "producer.override.sasl.oauthbearer.client.credentials.client.secret": OAUTH,
        "value.converter.bearer.auth.token": f"${{file:{file}:key}}",
    }
    kind = config["connector.class"]
    for name, state in (("leaky", "STOPPED"), ("leaky", "STOPPED"), ("", "STOPPED"), ("l", "NO SUCH")):
        body = {"name": name, "config": config, "initial_state": state}
        added(haystack, https.post(f"{service.url}/connectors", json=body, auth=ADMIN))
    known = https.get(f"{service.url}/connectors/leaky/config", auth=ADMIN)
    assert known.json().get("connection.password") == "[hidden]", known.text + str(haystack.straws[-4:])
    for wrong in (config, {**config, "mode": CONNECTOR[:3], "no.such.password": CONNECTOR}):
        url = f"{service.url}/connector-plugins/{kind}/config/validate"
        added(haystack, https.put(url, json=wrong, auth=ADMIN))
        added(haystack, https.put(f"{service.url}/connectors/leaky/config", json=wrong, auth=ADMIN))


def plant_exporters(
    service: ServiceProcess, guarded: GuardedBroker, https: httpx.Client, haystack: Haystack
) -> None:
    del guarded
    config = {
        "schema.registry.url": "http://127.0.0.1:1",
        "basic.auth.credentials.source": "USER_INFO",
        "basic.auth.user.info": EXPORTER,
        "ssl.truststore.password": EXPORTER,
    }
    body = {"name": "leaky", "subjects": ["*"], "contextType": "NONE", "config": config}
    made = added(haystack, https.post(f"{service.url}/exporters", json=body, auth=ADMIN))
    assert made.status_code == 200, made.text
    added(haystack, https.put(f"{service.url}/exporters/leaky", json=body, auth=ADMIN))
    added(haystack, https.post(f"{service.url}/exporters", json={**body, "no": EXPORTER[:2]}, auth=ADMIN))


def plant_statements(
    service: ServiceProcess, guarded: GuardedBroker, https: httpx.Client, haystack: Haystack
) -> None:
    del guarded
    secret = f"'connection.password'='{STATEMENT}'"
    for text in (
        f"CREATE SOURCE CONNECTOR leaky WITH ('connector.class'='JdbcSourceConnector', {secret});",
        f"CREATE SOURCE CONNECTOR leaky WITH ('connector.class'='JdbcSourceConnector', {secret}",
        f"SET 'sasl.jaas.config'='{PLAIN_MODULE} required password=\"{STATEMENT}\";';",
        f"SET 'ksql.streams.ssl.key.password'='{STATEMENT}'; SHOW PROPERTIES;",
        f"ALTER SYSTEM 'ksql.streams.ssl.key.password'='{STATEMENT}';",
        f"CREATE STREAM s (a INT) WITH (kafka_topic='alices', value_format='json', {secret});",
        "SHOW PROPERTIES;",
        "SHOW CONNECTORS;",
    ):
        body = {"ksql": text, "streamsProperties": {"ssl.key.password": STATEMENT}}
        added(haystack, https.post(f"{service.url}/ksql", json=body, auth=ADMIN))
        added(haystack, https.post(f"{service.url}/ksql", json={"ksql": text}, auth=ADMIN))


PLANTERS = {"connect": plant_connectors, "registry": plant_exporters, "sql": plant_statements}


@pytest.mark.claim("S5")
def test_no_page_of_the_console_holds_a_secret(
    console: ServiceProcess, https: httpx.Client, haystack: Haystack, secrets: list[bytes | str]
) -> None:
    own = {"Origin": console.url}
    form = {"name": "admin", "password": WRONG, "next": "/"}
    added(haystack, https.post(f"{console.url}/login", data=form, headers=own))
    entered = https.post(f"{console.url}/login", data={**form, "password": PASSWORDS["admin"]}, headers=own)
    assert entered.status_code == 303, entered.text
    (cookie,) = entered.cookies.values()
    secrets.append(cookie)
    haystack.add("the answer to a login", entered.text + entered.headers.get("location", ""))
    document = added(haystack, https.get(f"{console.url}/api/openapi.json"))
    paths = [
        path for path in (document.json()["paths"] if document.status_code == 200 else []) if "{" not in path
    ]
    for page in (*PAGES, *(path.lstrip("/") for path in paths), "api/me", "api/topics", "api/brokers"):
        added(haystack, https.get(f"{console.url}/{page}"))
    https.cookies.clear()
    assert "\n".join(haystack.leaks(secrets)) == ""


@pytest.mark.claim("S5")
@pytest.mark.parametrize("name", ["registry", "rest", "sql", "connect", "console"])
def test_no_line_of_a_services_log_holds_a_secret(
    name: str, request: pytest.FixtureRequest, haystack: Haystack, secrets: list[bytes | str]
) -> None:
    service: ServiceProcess = request.getfixturevalue(name)
    assert any("DEBUG" in line for line in service.lines), f"{name} writes its DEBUG lines"
    haystack.add(f"the log of {name}", "".join(service.lines))
    haystack.add("ps", command_lines())
    assert "\n".join(haystack.leaks(secrets)) == ""


@pytest.mark.claim("S5")
def test_no_line_of_the_brokers_log_and_no_record_of_metadata_holds_a_secret(
    guarded: GuardedBroker, haystack: Haystack, secrets: list[bytes | str]
) -> None:
    lines = "".join(guarded.process.lines)
    assert "DEBUG" in lines
    haystack.add("the log of the broker", lines)
    haystack.add("ps", command_lines())
    (metadata,) = guarded.data.glob("__cluster_metadata-0")
    for file in metadata.iterdir():
        haystack.add(f"metadata {file.name}", file.read_bytes())
    dump = [sys.executable, "-m", "penstock", "log", "dump", "--records", str(metadata)]
    dumped = subprocess.run(dump, capture_output=True, text=True, timeout=60, check=True).stdout
    assert "alices" in dumped
    haystack.add("dump of the metadata", dumped)
    assert "\n".join(haystack.leaks(secrets)) == ""


@pytest.mark.claim("S5")
def test_no_error_holds_a_secret(
    guarded: GuardedBroker, tmp_path: Path, haystack: Haystack, secrets: list[bytes | str]
) -> None:
    for text in wrong_jaas():
        try:
            haystack.add("a JAAS entry", repr(parse_jaas(text)))
        except JaasError as error:
            haystack.add("a JAAS error", str(error))
    good = guarded.client("alice")
    for name, value in (
        ("sasl.jaas.config", f"{PLAIN_MODULE} required username password={WRONG}"),
        ("sasl.mechanism", "NONE"),
        ("ssl.truststore.password", WRONG),
        ("sasl.jaas.config", good["sasl.jaas.config"].replace(PASSWORDS["alice"], WRONG)),
    ):
        properties = {**good, name: value}
        try:
            haystack.add("client settings", repr(ClientSettings.from_properties(properties)))
        except ClientSettingsError as error:
            haystack.add("an error of client settings", str(error))
        file = tmp_path / "client.properties"
        file.write_text("".join(f"{key}={text}\n" for key, text in properties.items()))
        file.chmod(0o600)
        command = [sys.executable, "-m", "penstock", "topic", "list", "--command-config", str(file)]
        command += ["--bootstrap-servers", guarded.address]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        haystack.add("a command", done.stdout + done.stderr)
    assert "\n".join(haystack.leaks(secrets)) == ""
    assert haystack.leaks(["alices"]) != [], "the search finds what is there"


def wrong_jaas() -> Iterator[str]:
    whole = f'{PLAIN_MODULE} required username="u" password="{WRONG}";'
    for end in range(len(PLAIN_MODULE) + 5, len(whole)):
        yield whole[:end]
    yield whole
    yield whole + WRONG
    yield whole.replace("required", WRONG)
