"""Secrets are planted, and what a system says is searched for them: as they are, and as Base64, hex and in
URLs."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote


def forms(secret: bytes) -> set[bytes]:
    """How a secret may be written."""
    found = {secret, secret.hex().encode(), secret.hex(":").encode(), base64.b64encode(secret)}
    found |= {base64.urlsafe_b64encode(secret).rstrip(b"="), quote(secret, safe="").encode()}
    found.add(repr(secret)[2:-1].encode())  # bytes in a log line of Python
    return found


@dataclass
class Haystack:
    """Everything that was said, and where."""

    straws: list[tuple[str, bytes]] = field(default_factory=list)

    def add(self, where: str, said: bytes | str) -> None:
        self.straws.append((where, said.encode(errors="replace") if isinstance(said, str) else said))

    def leaks(self, secrets: Iterable[bytes | str]) -> list[str]:
        """Each place with a secret, and what stands around it."""
        needles = {form for one in secrets for form in forms(one.encode() if isinstance(one, str) else one)}
        found: dict[str, None] = {}
        for where, said in self.straws:
            for needle in needles:
                place = said.find(needle)
                if place >= 0:
                    found[f"{where}: {said[max(0, place - 80) : place + 80]!r}"] = None
        return list(found)

    @property
    def size(self) -> int:
        return sum(len(said) for _, said in self.straws)


def command_lines() -> str:
    """What `ps` shows of every process of the machine."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue
    return "\n".join(found)
