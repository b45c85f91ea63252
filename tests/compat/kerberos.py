"""A KDC of MIT's Kerberos for tests, on a port of its own, with its files in one directory."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Final

REALM: Final = "PENSTOCK.TEST"
SECONDS: Final = 20.0
_COMMANDS: Final = ("krb5kdc", "kdb5_util", "kadmin.local")
_CLIENT: Final = """[libdefaults]
default_realm = {realm}
dns_canonicalize_hostname = false
rdns = false
dns_lookup_kdc = false
udp_preference_limit = 1
[realms]
{realm} = {{
  kdc = 127.0.0.1:{port}
}}
"""
_SERVER: Final = """[kdcdefaults]
kdc_ports = {port}
kdc_tcp_ports = {port}
[realms]
{realm} = {{
  database_name = {folder}/principal
  key_stash_file = {folder}/stash
  acl_file = {folder}/acl
}}
"""


def why_no_kdc() -> str | None:
    """Why there can be no KDC here; None when there can."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin"
    missing = [name for name in _COMMANDS if shutil.which(name, path=path) is None]
    return f"MIT's Kerberos is not installed: no {missing[0]}" if missing else None


class Kdc:
    """`keytab` makes a principal and a file with its key."""

    def __init__(self, folder: Path, port: int) -> None:
        self._folder = folder
        self._port = port
        self.config = folder / "krb5.conf"
        values = {"realm": REALM, "port": port, "folder": folder}
        self.config.write_text(_CLIENT.format(**values))
        (folder / "kdc.conf").write_text(_SERVER.format(**values))
        self.environment = {
            **os.environ,
            "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin",
            "KRB5_CONFIG": str(self.config),
            "KRB5_KDC_PROFILE": str(folder / "kdc.conf"),
            "KRB5CCNAME": f"FILE:{folder}/tickets",
        }
        self._run("kdb5_util", "create", "-s", "-P", "master")
        self._process: subprocess.Popen[bytes] | None = None

    def _run(self, *words: str) -> None:
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 0, done.stdout + done.stderr

    def keytab(self, principal: str) -> Path:
        path = self._folder / f"{principal.replace('/', '-')}.keytab"
        self._run("kadmin.local", "-q", f"addprinc -randkey {principal}@{REALM}")
        self._run("kadmin.local", "-q", f"ktadd -k {path} {principal}@{REALM}")
        return path

    def __enter__(self) -> Kdc:
        self._process = subprocess.Popen(
            ["krb5kdc", "-n"], env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        end = time.monotonic() + SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self._port), 1).close()
                return self
            except OSError:
                assert self._process.poll() is None, "krb5kdc has ended"
                assert time.monotonic() < end
                time.sleep(0.02)

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(SECONDS)
