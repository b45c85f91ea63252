"""Runs one of Kafka's own commands and ours with the same words, against the same broker."""

from __future__ import annotations

import io
import re
import sys
from dataclasses import dataclass

import pytest

from penstock.cli.kafka.starting import Body, run
from tests.peers.java_programs import JavaPrograms


@dataclass(frozen=True)
class Said:
    """Exit code and output of one command."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines of standard output, sorted: Kafka prints some of them in the order of a hash table."""
        return sorted(line.rstrip() for line in self.out.splitlines())

    @property
    def complaint(self) -> str:
        """The first line of standard error, where Kafka puts the reason; a stack trace may follow. Once in
        the life of a JVM the library for logging has its say before it."""
        return next((line for line in self.err.split("\n") if not line.startswith("SLF4J")), "")

    @property
    def words_of_complaint(self) -> list[str]:
        """Its words, sorted: some of Kafka's complaints name options in the order of a hash table."""
        return sorted(re.findall(r"[\w.:-]+", self.complaint))


class SideBySide:
    """`ours` runs a command of Penstock in this process, `kafkas` the class of Kafka in the tests' JVM."""

    def __init__(
        self,
        servers: str,
        programs: JavaPrograms,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        self.servers = servers
        self._programs = programs
        self._capsys = capsys
        self._monkeypatch = monkeypatch

    def ours(self, body: Body, *words: str, stdin: bytes = b"") -> Said:
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        self._capsys.readouterr()
        code = run(body, [self._filled(word) for word in words])
        said = self._capsys.readouterr()
        return Said(code, said.out, said.err)

    def kafkas(self, name: str, *words: str, stdin: str = "") -> Said:
        return Said(*self._programs.outcome(name, *(self._filled(word) for word in words), stdin=stdin))

    def both(self, body: Body, name: str, line: str) -> tuple[Said, Said]:
        """Ours and Kafka's for one command line; `SERVERS` stands for the broker's address."""
        words = line.split()
        return self.ours(body, *words), self.kafkas(name, *words)

    def _filled(self, word: str) -> str:
        return word.replace("SERVERS", self.servers)


def without(text: str, *patterns: str) -> str:
    """The text with what may differ between two runs replaced by a dot."""
    for pattern in patterns:
        text = re.sub(pattern, ".", text)
    return text
