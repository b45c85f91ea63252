"""A local authority and the certificate of this machine, for `penstock up --secure`.

For one person's machine and for trials: the authority's key lies beside the certificates. A cluster that
others use gets its certificates from an authority of its own.
"""

from __future__ import annotations

import datetime
import ipaddress
import os
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_DAYS: Final = 3650
SERVER_DAYS: Final = 397
RENEWED_DAYS: Final = 30
"""So long before its end a certificate is made anew, at a start."""


def write_secret(path: Path, content: bytes) -> None:
    """Readable by this user alone, from its first byte; what was there is replaced in one step."""
    beside = path.with_name(path.name + ".new")
    beside.unlink(missing_ok=True)
    with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    beside.replace(path)


class LocalAuthority:
    """`authority.pem` and `authority.key` in the folder; made when they are missing."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "authority.pem"
        key_path = folder / "authority.key"
        if self.path.exists() and key_path.exists():
            self._certificate = x509.load_pem_x509_certificate(self.path.read_bytes())
            key = load_pem_private_key(key_path.read_bytes(), None)
            assert isinstance(key, ec.EllipticCurvePrivateKey), "the key that was written here"
            self._key = key
            return
        self._key = ec.generate_private_key(ec.SECP256R1())
        shown = f"Penstock on {socket.gethostname()[:40]}"
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, shown)])
        builder = _builder(name, name, self._key, AUTHORITY_DAYS)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        builder = builder.add_extension(_usage(signs=True), critical=True)
        self._certificate = builder.sign(self._key, hashes.SHA256())
        write_secret(key_path, _key_pem(self._key))
        self.path.write_bytes(self._certificate.public_bytes(Encoding.PEM))

    def issue(self, path: Path, hosts: Iterable[str]) -> None:
        """Key and certificate of a server in one file; a file that still does for these hosts stays."""
        names = [_general_name(host) for host in dict.fromkeys(hosts)]
        if path.exists() and _does(path.read_bytes(), names):
            return
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "penstock")])
        builder = _builder(subject, self._certificate.subject, key, SERVER_DAYS)
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_usage(signs=False), critical=True)
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        builder = builder.add_extension(usage, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        chain = (each.public_bytes(Encoding.PEM) for each in (certificate, self._certificate))
        write_secret(path, _key_pem(key) + b"".join(chain))


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, days: int
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=days))
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _does(pem: bytes, names: list[x509.GeneralName]) -> bool:
    certificate = x509.load_pem_x509_certificate(pem)
    covered = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    left = certificate.not_valid_after_utc - datetime.datetime.now(datetime.UTC)
    return set(names) <= set(covered) and left > datetime.timedelta(days=RENEWED_DAYS)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
