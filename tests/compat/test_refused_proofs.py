"""Wrong passwords, expired tokens, expired and unknown certificates, wrong host names: each client that we
did not write says what it says of Kafka; the long form asks Apache Kafka as well. A refused proof is answered
late, and alike whether the user exists."""

from __future__ import annotations

import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.security.client_settings import Sasl
from tests.compat.test_groups_other_languages import go_program
from tests.peers.apache_kafka import Unavailable, jars
from tests.peers.java_programs import JavaPrograms
from tests.security.raw_login import logged_in
from tests.security.refusing_broker import (
    CLIENTS,
    DELAY_MS,
    WRONG,
    RefusingBroker,
    Way,
    java_properties,
)

REFUSED = "Authentication failed: Invalid username or password"
SCRAM_REFUSED = "Authentication failed during authentication due to invalid credentials with SASL mechanism"
CERTIFICATES = ("unknown server", "expired server", "wrong host", "expired client", "unknown client")
LIBRDKAFKA = {
    "wrong password": REFUSED,
    "unknown user": REFUSED,
    "expired token": "invalid_token",
    "unknown server": "certificate verify failed",
    "expired server": "certificate verify failed",
    "wrong host": "certificate verify failed",
    "expired client": "alert certificate expired",
    "unknown client": "alert unknown ca",
}
PYTHON = {
    **LIBRDKAFKA,
    "unknown server": "self-signed certificate in certificate chain",
    "expired server": "certificate has expired",
    "wrong host": "certificate is not valid for '127.0.0.1'",
}
AIOKAFKA = {**PYTHON, **dict.fromkeys(("expired token", "expired client", "unknown client"), "closed")}
"""It does not read the alert, and takes the answer to a token for its end."""
WORDS = {"librdkafka": LIBRDKAFKA, "kcat": LIBRDKAFKA, "kafka-python": PYTHON, "aiokafka": AIOKAFKA}
OF_APACHE = {
    **{(client, case): "alert" for client in WORDS for case in CERTIFICATES[3:] if client != "aiokafka"},
    **{
        ("kafka-python", case): "disconnected" for case in ("wrong password", "unknown user", "expired token")
    },
    ("aiokafka", "expired token"): "came in",
}
"""Where Kafka's own words are others. Java's TLS has other alerts for the same certificates. Kafka answers a
request in the place of a proof with an error; aiokafka takes that for metadata without brokers. kafka-python
drops an answer that it reads together with the end of the connection; of Kafka it often learns why it is
refused, here it always does."""
IN_SHORT = ("librdkafka", "aiokafka")
"""The others wait for seconds before they give up."""
JAVA = {
    "wrong password": REFUSED,
    "unknown user": REFUSED,
    **dict.fromkeys(CERTIFICATES[:3], "SSL handshake failed"),
    **dict.fromkeys(CERTIFICATES[3:], "post-handshake"),
}
"""In TLS 1.3 the client learns after its handshake that its certificate was refused."""
FRANZ = {
    "wrong password": "SASL_AUTHENTICATION_FAILED",
    "unknown user": "SASL_AUTHENTICATION_FAILED",
    "unknown server": "certificate signed by unknown authority",
    "expired server": "certificate has expired",
    "wrong host": "doesn't contain any IP SANs",
    "expired client": "expired certificate",
    "unknown client": "unknown certificate authority",
}


@pytest.fixture(scope="module", params=["penstock", pytest.param("apache", marks=pytest.mark.long)])
def refusing(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RefusingBroker]:
    if request.param == "apache":
        try:
            jars()
        except Unavailable as reason:
            pytest.skip(str(reason))
    found = RefusingBroker(tmp_path_factory.mktemp("refusing"), request.param)
    with found.broker:
        yield found


@pytest.mark.timeout(300)
@pytest.mark.parametrize("client", list(WORDS))
def test_clients_say_why_they_are_refused(refusing: RefusingBroker, client: str, long_form: bool) -> None:
    if client not in IN_SHORT and not long_form:
        return
    for case, words in WORDS[client].items():
        if (client, case) == ("kcat", "expired token"):
            continue  # it makes its tokens itself
        if refusing.is_apache:
            words = OF_APACHE.get((client, case), words)
        assert words in CLIENTS[client](refusing.way(case)), case


@pytest.mark.timeout(300)
def test_javas_client_says_why_it_is_refused(
    refusing: RefusingBroker, java_programs: JavaPrograms, tmp_path: Path, long_form: bool
) -> None:
    cases = JAVA if long_form else {case: JAVA[case] for case in ("wrong password", "wrong host")}
    for case, words in cases.items():
        way = refusing.way(case)
        file = tmp_path / "client.properties"
        file.write_text(java_properties(way))
        _, said, errors = java_programs.outcome(
            "org.apache.kafka.tools.TopicCommand",
            *("--bootstrap-server", way.address, "--command-config", str(file), "--list"),
        )
        assert words in said + errors, (case, (said + errors)[-3000:])


@pytest.mark.long
@pytest.mark.timeout(300)
def test_franz_go_says_why_it_is_refused(refusing: RefusingBroker) -> None:
    program = go_program("franz_secured")

    def franz(way: Way) -> str:
        own = ["", ""] if way.client is None else [str(way.client.pem), str(way.client.key)]
        words = [*program, way.address, "t", way.mechanism or "-", way.password, str(way.trusted), *own]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        return done.stdout + done.stderr

    for case, words in FRANZ.items():
        if refusing.is_apache and case in CERTIFICATES[3:]:
            words = "remote error: tls"
        assert words in franz(refusing.way(case)), case


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_refusal_comes_late_and_tells_nothing_of_the_user(refusing: RefusingBroker, mechanism: str) -> None:
    """`alice` is there for PLAIN; for SCRAM a wrong proof of a user that is not there is answered alike."""
    address = ("127.0.0.1", refusing.ports["BOTH"])
    context = ssl.create_default_context(cafile=str(refusing.authority.path))
    said = []
    for user in ("alice", "nobody"):
        began = time.monotonic()
        with pytest.raises(ConnectionError, match="refused") as refused:
            logged_in(address, context, Sasl(mechanism, user, WRONG))
        assert time.monotonic() - began >= DELAY_MS / 1000
        said.append(str(refused.value))
    assert said[0] == said[1]
    assert (REFUSED if mechanism == "PLAIN" else SCRAM_REFUSED) in said[0]
