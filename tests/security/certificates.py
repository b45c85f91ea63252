"""A certificate authority for tests, and what it signs, as files."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

PASSWORD = "keystore-secret"


class Authority:
    """Signs certificates; everything is written into `folder`."""

    def __init__(self, folder: Path, name: str = "test-authority") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._certificate = self._sign(self._name, self._key, [], is_authority=True)
        self.pem = self._certificate.public_bytes(Encoding.PEM).decode()
        self.path = folder / f"{name}.pem"
        self.path.write_text(self.pem)

    def _sign(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        hosts: list[x509.GeneralName],
        *,
        is_authority: bool = False,
        days: int = 10,
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=20))
            .not_valid_after(now + datetime.timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )
        if hosts:
            builder = builder.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        return builder.sign(self._key, hashes.SHA256())

    def issue(
        self,
        name: str,
        *,
        host: str = "localhost",
        days: int = 10,
        addresses: Sequence[str] = (),
        file: str | None = None,
    ) -> Issued:
        """A certificate for a server on `host`, 127.0.0.1 and more addresses, or for a client; expired when
        `days` < 0. Its files are called as it is, or `file`."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name(
            [
                x509.NameAttribute(NameOID.COMMON_NAME, name),
                x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, "tests"),
            ]
        )
        hosts: list[x509.GeneralName] = [x509.DNSName(host)]
        if host == "localhost":
            hosts.append(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
        hosts += [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
        signed = self._sign(subject, key, hosts, days=days)
        return Issued(self._folder, file or name, signed, key, self._certificate)


class Issued:
    """A certificate with its key, in the forms that Kafka takes."""

    def __init__(
        self,
        folder: Path,
        name: str,
        certificate: x509.Certificate,
        key: ec.EllipticCurvePrivateKey,
        authority: x509.Certificate,
    ) -> None:
        self.certificate_pem = certificate.public_bytes(Encoding.PEM).decode()
        plain = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        self.key_pem = plain.decode()
        self.encrypted_key_pem = key.private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(PASSWORD.encode())
        ).decode()
        self.pem = folder / f"{name}.pem"
        self.pem.write_text(self.key_pem + self.certificate_pem)
        self.key = folder / f"{name}.key"
        self.key.write_text(self.key_pem)
        self.pkcs12 = folder / f"{name}.p12"
        self.pkcs12.write_bytes(
            pkcs12.serialize_key_and_certificates(
                name.encode(), key, certificate, [authority], BestAvailableEncryption(PASSWORD.encode())
            )
        )
