"""`kafka-server-stop`: asks the nodes of this machine to stop, and returns at once, as Kafka's does.

A node is a process of this user that runs `kafka-server-start`, `penstock broker` or one of their Python
forms. `--node-id` and `--process-role` choose among them by the properties file that each was started with.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from penstock.cli.kafka.options import CommandFailed
from penstock.cli.kafka.starting import script

_PROCESSES: Final = Path("/proc")
_STARTERS: Final = ("kafka-server-start", "kafka-server-start.sh")


class Node(NamedTuple):
    process_id: int
    config: Path | None
    """The properties file that it was started with; none if it was started without one."""


def server_stop(words: Sequence[str]) -> int:
    wanted = _wanted(words)
    nodes = list(nodes_running())
    if not nodes:
        print("No kafka server to stop")
        return 1
    number = signal.Signals[f"SIG{os.environ.get('SIGNAL', 'TERM')}"]
    for node in nodes:
        if all(_property(node.config, name) == value for name, value in wanted.items()):
            os.kill(node.process_id, number)
    return 0


def _wanted(words: Sequence[str]) -> dict[str, str]:
    """The properties that a node must have to be stopped; all nodes without any."""
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if name not in ("--node-id", "--process-role") or not equals:
            raise CommandFailed(
                f"{word} is not understood. Usage: kafka-server-stop [--node-id=ID] [--process-role=ROLE]"
            )
        found[name] = value
    if len(found) > 1:
        print(
            "When both node-id and process-role are provided, the value for node-id will take precedence",
            flush=True,
        )
        del found["--process-role"]
    names = {"--node-id": "node.id", "--process-role": "process.roles"}
    return {names[option]: value for option, value in found.items()}


def nodes_running(processes: Path = _PROCESSES) -> Iterator[Node]:
    """Nodes of this user, by what the system says of each process."""
    for folder in sorted(processes.glob("[0-9]*"), key=lambda each: int(each.name)):
        try:
            if folder.stat().st_uid != os.getuid():
                continue
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
            home = (folder / "cwd").resolve()
        except OSError:
            continue  # it has ended meanwhile
        node = _as_node(int(folder.name), words, home)
        if node is not None and node.process_id != os.getpid():
            yield node


def _as_node(process_id: int, words: list[str], home: Path) -> Node | None:
    """A process as a node, if it is one: `python …/penstock broker …`, `python -m penstock broker …`."""
    for place, word in enumerate(words[:4]):
        following = words[place + 1 :]
        if Path(word).name in _STARTERS:
            return Node(process_id, home / following[0] if following else None)
        if Path(word).name == "penstock" and following[:1] == ["broker"]:
            return Node(process_id, _config_of(following, home))
    return None


def _config_of(words: list[str], home: Path) -> Path | None:
    for place, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name == "--config":
            return home / (value if equals else words[place + 1])
    return None


def _property(config: Path | None, name: str) -> str | None:
    from penstock.settings.properties import parse_properties

    if config is None:
        return None
    try:
        return parse_properties(config.read_text(encoding="utf-8")).get(name)
    except OSError as error:
        raise CommandFailed(f"{config}: {error.strerror}") from None


main = script(server_stop)
