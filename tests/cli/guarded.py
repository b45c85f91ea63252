"""Where a guarded broker is, and the files with which its users log in."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from penstock.security.jaas import PLAIN_MODULE, SCRAM_MODULE
from tests.security.properties import SECRET


class Guarded(NamedTuple):
    servers: str
    """Anonymous clients come in here, and may do everything."""
    sasl: str
    folder: Path

    def login(self, name: str, password: str, mechanism: str = "SCRAM-SHA-512", more: str = "") -> list[str]:
        """Options with which a command comes in as this user."""
        module = PLAIN_MODULE if mechanism == "PLAIN" else SCRAM_MODULE
        path = self.folder / "login.properties"
        path.write_text(
            f"bootstrap.servers={self.sasl}\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\n"
            f'sasl.jaas.config={module} required username="{name}" password="{password}"{more};\n'
        )
        return ["--command-config", str(path)]

    def alice(self) -> list[str]:
        return self.login("alice", SECRET, "PLAIN")
