"""A cluster from a client's side: address, certificate, what it advertises, versions, clock."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Final

from penstock.client.errors import ClientError
from penstock.platform.doctor.findings import Finding, ok, problem, warning
from penstock.security.client_settings import ClientSettings, ClientSettingsError

TIMEOUT_S: Final = 3.0
SKEW_S: Final = 5.0
OLDEST: Final = {"PRODUCE": 3, "FETCH": 4, "METADATA": 1, "LIST_OFFSETS": 1}
"""What every client since Kafka 0.11 speaks; a broker whose newest version is older cannot be talked to."""


def check_cluster(servers: str, properties: Mapping[str, str], admin: Any) -> list[Finding]:
    """Checks from the inside out: the first that fails ends them, as the rest would fail for its reason.
    `admin` makes a client when it is called."""
    addresses = [text.strip() for text in servers.split(",") if text.strip()]
    reached = [_reach("broker", address) for address in addresses]
    if all(finding.fix for finding in reached):
        return reached
    first = next(at for at, found in zip(addresses, reached, strict=True) if not found.fix)
    found = [*reached, *check_tls(first, properties)]
    if any(each.fix for each in found[len(reached) :]):
        return found
    try:
        cluster, _ = admin().describe()
    except ClientError as error:
        return [*found, problem("cluster", str(error), _login_fix(error))]
    found.append(ok("cluster", f"{cluster.cluster_id} with {len(cluster.brokers)} brokers."))
    return found + [check_advertised(broker.node_id, broker.host, broker.port) for broker in cluster.brokers]


def _login_fix(error: ClientError) -> str:
    if "uthent" in str(error):
        return "Check name and password in --command-config: sasl.mechanism, sasl.jaas.config."
    return "Look at the broker's log; `penstock cluster describe` shows what it says."


def _reach(check: str, address: str) -> Finding:
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        return problem(check, f"{address!r} is no address.", "Write HOST:PORT.")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=TIMEOUT_S):
            return ok(check, f"{address} answers.")
    except socket.gaierror:
        return problem(
            check,
            f"The name {host} cannot be resolved.",
            "Check the name, DNS and /etc/hosts of this machine.",
        )
    except OSError as error:
        return problem(
            check,
            f"Nothing answers at {address}: {error.strerror or error}.",
            "Start one with `penstock up`, or name the right address with --bootstrap-servers HOST:PORT.",
        )


def check_advertised(node_id: int, host: str, port: int) -> Finding:
    """Whether the address that a broker tells its clients can be reached from here."""
    found = _reach(f"broker {node_id}", f"{host}:{port}")
    if not found.fix:
        return ok(f"broker {node_id}", f"Its advertised address {host}:{port} can be reached.")
    return problem(
        f"broker {node_id}",
        f"It tells clients to connect to {host}:{port}, which does not work from here. {found.what}",
        "Set advertised.listeners of that broker to a name and port that clients can reach, for example "
        f"advertised.listeners=PLAINTEXT://{socket.gethostname()}:{port}, and start it again.",
    )


def check_tls(address: str, properties: Mapping[str, str]) -> list[Finding]:
    """The listener's certificate as this client's settings see it; whether it speaks TLS without them."""
    from penstock.security.keystores import KeystoreError
    from penstock.wire.tls import client_context

    host, _, port = address.rpartition(":")
    try:
        tls = ClientSettings.from_properties(properties, bootstrap_servers=address).tls
        if tls is None:
            return _plain(host, int(port), address)
        with (
            socket.create_connection((host, int(port)), timeout=TIMEOUT_S) as plain,
            client_context(tls).wrap_socket(plain, server_hostname=host) as secured,
        ):
            until = (secured.getpeercert() or {}).get("notAfter", "?")
            return [ok("certificate", f"{address} has one that this client trusts, until {until}.")]
    except ssl.SSLCertVerificationError as error:
        return [problem("certificate", f"{address}: {error.verify_message}.", _certificate_fix(error, host))]
    except ssl.SSLError as error:
        return [_tls_failed(address, error)]
    except (ClientSettingsError, KeystoreError) as error:
        return [problem("certificate", f"{error}.", "Mend the file that --command-config names.")]
    except OSError as error:
        return [
            problem("certificate", f"{address}: {error}.", "Check ssl.truststore.location and the address.")
        ]


def _certificate_fix(error: ssl.SSLCertVerificationError, host: str) -> str:
    text = error.verify_message.lower()
    if "expired" in text:
        return "Give the broker a new certificate (ssl.keystore.location), and check both machines' clocks."
    if "not yet valid" in text:
        return "Check the clocks: the certificate begins in the future."
    if "hostname" in text or "ip address" in text:
        return (
            f"Give the broker a certificate with {host} among its names (subjectAltName), or connect by a "
            "name that it has."
        )
    return "Put the authority that signed the broker's certificate into ssl.truststore.location."


def _tls_failed(address: str, error: ssl.SSLError) -> Finding:
    reason = (error.reason or str(error)).replace("_", " ").lower()
    if "wrong version number" in reason or "record layer" in reason:
        return problem(
            "certificate",
            f"{address} does not speak TLS, and this client does.",
            "Set security.protocol=PLAINTEXT, or connect to the port of the TLS listener.",
        )
    return problem(
        "certificate",
        f"{address}: {reason}.",
        "The broker may want a certificate of this client: set ssl.keystore.location.",
    )


def _plain(host: str, port: int, address: str) -> list[Finding]:
    """Nothing to say of a plain listener; a TLS listener would not answer such a client at all."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection((host, port), timeout=TIMEOUT_S) as plain,
            context.wrap_socket(plain, server_hostname=host),
        ):
            return [
                problem(
                    "certificate",
                    f"{address} speaks TLS, and this client does not.",
                    "Set security.protocol=SSL or SASL_SSL and ssl.truststore.location in --command-config.",
                )
            ]
    except OSError:
        return []


def check_versions(newest: Mapping[str, int]) -> Finding:
    """`newest` is the newest version of each request that a broker understands."""
    for name, oldest in OLDEST.items():
        if newest.get(name, -1) < oldest:
            return problem(
                "versions",
                f"The broker understands {name} up to version {newest.get(name, 'none')}; clients of today "
                f"begin at {oldest}. It is older than Kafka 0.11.",
                "Upgrade the broker, or use clients of its time.",
            )
    return ok("versions", f"The broker understands {len(newest)} kinds of requests, all that clients need.")


def newest_versions(servers: str, properties: Mapping[str, str]) -> dict[str, int]:
    """What any broker answers to ApiVersions."""
    from penstock.protocol.apis import Api
    from penstock.wire.cluster import Cluster
    from penstock.wire.deadline import Deadline

    cluster = Cluster.of(ClientSettings.from_properties(properties, bootstrap_servers=servers))
    deadline = Deadline(TIMEOUT_S)
    try:
        with cluster.any_connection(deadline) as connection:
            answer = connection.call(Api.API_VERSIONS, {}, deadline, oldest=0, newest=0)
    finally:
        cluster.close()
    known = {int(api): api.name for api in Api}
    return {
        known.get(int(each.api_key), str(each.api_key)): int(each.max_version) for each in answer.api_keys
    }


def check_clock(url: str, now: float) -> Finding:
    """The clock of a service beside ours, by the Date of its answer."""
    from urllib.error import HTTPError, URLError
    from urllib.request import urlopen

    try:
        with urlopen(url, timeout=TIMEOUT_S) as answer:
            told = answer.headers.get("Date")
    except HTTPError as error:
        told = error.headers.get("Date")
    except (URLError, OSError, ValueError) as error:
        return warning(
            "clock", f"{url} was not reached: {error}.", "Start it, or name another with --service."
        )
    if told is None:
        return warning("clock", f"{url} does not tell its time.", "Compare the clocks by hand: date -u.")
    skew = parsedate_to_datetime(told).timestamp() - now
    if abs(skew) > SKEW_S:
        side = "ahead of" if skew > 0 else "behind"
        return problem(
            "clock",
            f"The clock of {url} is {abs(skew):.0f} s {side} this machine's.",
            "Set both by NTP: timedatectl set-ntp true. Retention, windows and tokens go by clocks.",
        )
    return ok("clock", f"{url} has the same time, to {SKEW_S:.0f} s.")
