"""A network whose links can be cut in one direction or both: a namespace for each node, joined by a bridge.

Packets are dropped where they arrive, silently, as a broken switch would: nobody is told. Clients are in the
namespace of the test and reach every node, unless a node is unplugged. Needs root and Linux; `why_not` says
what the machine refused.
"""

from __future__ import annotations

import os
import subprocess
import uuid
from types import TracebackType
from typing import Final, Self

CLIENTS: Final = 254
"""The last byte of the address that clients come from."""

BEFORE_LOCAL: Final = "50"
LOCAL: Final = "100"
"""Priorities of routing rules: Linux looks for local addresses first of all; that rule moves behind ours."""

COMMAND_SECONDS: Final = 20


class Network:
    def __init__(self) -> None:
        self._name = f"pk{uuid.uuid4().hex[:6]}"  # an interface's name has at most 15 characters
        number = int(self._name[2:], 16)
        self._subnet = f"10.{200 + number % 50}.{number // 50 % 256}"
        self._nodes: set[int] = set()
        self._cuts: set[tuple[int, int]] = set()
        self._unplugged: set[int] = set()

    @staticmethod
    def why_not() -> str | None:
        """Why there can be no such network here: the command that was refused, and its words."""
        if os.geteuid():
            return "network namespaces need root"
        try:
            with Network() as network:
                network.add(1)
        except (OSError, subprocess.CalledProcessError) as error:
            refused = error.stderr if isinstance(error, subprocess.CalledProcessError) else error
            return f"network namespaces were refused: {error}: {refused}"
        return None

    def __enter__(self) -> Self:
        _ip("link", "add", self._name, "type", "bridge")
        _ip("address", "add", f"{self.address_of(CLIENTS)}/24", "dev", self._name)
        _ip("link", "set", self._name, "up")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number in self._nodes:
            _ip("link", "delete", self._cable(number))
            _ip("netns", "delete", self._namespace(number))
        _ip("link", "delete", self._name)

    def address_of(self, number: int) -> str:
        return f"{self._subnet}.{number % 256}"

    def add(self, number: int) -> str:
        """Give a node its namespace; the address is the same when it is asked for again."""
        if number in self._nodes:
            return self.address_of(number)
        space, cable = self._namespace(number), self._cable(number)
        _ip("netns", "add", space)
        self._nodes.add(number)
        _ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", space)
        _ip("link", "set", cable, "master", self._name, "up")
        _ip("-n", space, "address", "add", f"{self.address_of(number)}/24", "dev", "eth0")
        for link in ("lo", "eth0"):
            _ip("-n", space, "link", "set", link, "up")
        _ip("-n", space, "rule", "add", "pref", LOCAL, "lookup", "local")
        _ip("-n", space, "rule", "delete", "pref", "0")
        return self.address_of(number)

    def prefix(self, number: int) -> tuple[str, ...]:
        """What to write before a command so that it runs at that node. `ip netns exec` would give it mounts
        of its own, too, which keep in use what is unmounted elsewhere."""
        return ("nsenter", f"--net=/run/netns/{self._namespace(number)}")

    def cut(self, source: int, target: int) -> None:
        """From now on nothing that `source` sends arrives at `target`; the other way stays open."""
        if (source, target) not in self._cuts:
            self._rule("add", source, target)
            self._cuts.add((source, target))

    def cut_both(self, one: int, other: int) -> None:
        self.cut(one, other)
        self.cut(other, one)

    def isolate(self, number: int) -> None:
        """Cut a node off from all other nodes; clients still reach it."""
        for other in self._nodes - {number}:
            self.cut_both(number, other)

    def unplug(self, number: int) -> None:
        """Cut a node off from everybody, clients included."""
        _ip("link", "set", self._cable(number), "down")
        self._unplugged.add(number)

    def heal(self) -> None:
        """Mend every cut."""
        for source, target in self._cuts:
            self._rule("delete", source, target)
        for number in self._unplugged:
            _ip("link", "set", self._cable(number), "up")
        self._cuts.clear()
        self._unplugged.clear()

    def _rule(self, verb: str, source: int, target: int) -> None:
        space, origin = self._namespace(target), self.address_of(source)
        _ip("-n", space, "rule", verb, "pref", BEFORE_LOCAL, "from", origin, "blackhole")

    def _namespace(self, number: int) -> str:
        return f"{self._name}-{number}"

    def _cable(self, number: int) -> str:
        return f"{self._name}-{number}"


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True, timeout=COMMAND_SECONDS)
