"""The machine: Java, libraries, memory, and the ports that the platform wants."""

from __future__ import annotations

import re
import socket
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Final

from penstock.platform.doctor.findings import Finding, ok, problem, warning

PORTS: Final = {
    "broker": 9092,
    "registry": 8081,
    "REST Proxy": 8082,
    "Connect": 8083,
    "SQL": 8088,
    "console": 9021,
}
MEMORY_BYTES: Final = 2 * 1024**3
_CONNECT_S: Final = 1.0
_MEMORY: Final = Path("/proc/meminfo")
_PROCESSES: Final = Path("/proc")
_REQUIREMENT: Final = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*([^;]*)(?:;(.*))?")
_BOUND: Final = re.compile(r"(>=|<=|==|!=|~=|<|>)\s*([0-9A-Za-z.*]+)")


def check_python() -> Finding:
    from penstock import records

    version = ".".join(map(str, sys.version_info[:3]))
    if not any(Path(next(iter(records.__path__))).glob("*.so")):
        return warning(
            "python",
            f"Python {version}; the record walk is not compiled, so reading records is slow.",
            "Install a C compiler (apt-get install gcc python3-dev) and install Penstock again.",
        )
    return ok("python", f"Python {version}, with compiled record walk.")


def check_java(environ: Mapping[str, str]) -> Finding:
    from penstock.spark.java import JavaMissing, find_java_home

    try:
        return ok("java", f"Spark will use {find_java_home(environ)}.")
    except JavaMissing as error:
        return problem(
            "java",
            f"{str(error).partition('. Set ')[0]}. Pipelines (Streams, SQL, Connect) cannot run.",
            "pip install 'penstock[spark]' brings a Java of its own; or install Java 17 and set JAVA_HOME.",
        )


def check_memory(meminfo: Path = _MEMORY) -> Finding:
    try:
        text = meminfo.read_text()
    except OSError:
        return ok("memory", "This system does not tell how much memory it has left.")
    found = re.search(r"MemAvailable:\s+(\d+) kB", text)
    free = int(found[1]) * 1024 if found else 0
    if free < MEMORY_BYTES:
        return warning(
            "memory",
            f"{free / 1024**3:.1f} GB of memory are free; a broker takes 0.1 GB, Spark another 1.2 GB.",
            "Stop other programs, or run the broker alone: penstock broker.",
        )
    return ok("memory", f"{free / 1024**3:.1f} GB of memory are free.")


def check_ports(ports: Mapping[str, int] = PORTS, host: str = "127.0.0.1") -> list[Finding]:
    """Whether each port is free, or has a service of ours; another program there is a problem."""
    return [_port(name, host, number) for name, number in ports.items()]


def _port(name: str, host: str, number: int) -> Finding:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, number))
        except PermissionError:
            return problem(
                f"port {number}",
                f"This user may not listen on port {number} of the {name}.",
                "Choose a port above 1023 with the service's --listen option.",
            )
        except OSError:
            return _taken(name, host, number)
    return ok(f"port {number}", f"Free for the {name}.")


def _taken(name: str, host: str, number: int) -> Finding:
    owner = owner_of(number)
    if owner is not None and _is_ours(owner[1]):
        return ok(f"port {number}", f"The {name} listens here (process {owner[0]}).")
    who = "another program" if owner is None else f"process {owner[0]} ({owner[1][:60]})"
    stop = "Stop it" if owner is None else f"Stop it (kill {owner[0]})"
    return problem(
        f"port {number}",
        f"The {name} wants port {number}, and {who} has it.",
        f"{stop}, or give the {name} another port with --listen HOST:PORT.",
    )


def _is_ours(command: str) -> bool:
    """Whether a command line runs Penstock; a folder of that name in its path does not count."""
    words = command.split()
    return any(Path(word).name == "penstock" for word in words[:4]) or "-m penstock" in command


def owner_of(number: int, processes: Path = _PROCESSES) -> tuple[int, str] | None:
    """The process that listens on a port, and its command line; None when the system does not tell."""
    inodes = set()
    for table in ("tcp", "tcp6"):
        try:
            lines = (processes / "net" / table).read_text().splitlines()[1:]
        except OSError:
            continue
        rows = (line.split() for line in lines)
        inodes |= {row[9] for row in rows if row[3] == "0A" and int(row[1].rpartition(":")[2], 16) == number}
    wanted = {f"socket:[{inode}]" for inode in inodes}
    for folder in processes.glob("[0-9]*"):
        try:
            if any(_target(link) in wanted for link in (folder / "fd").iterdir()):
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                return int(folder.name), command.strip()
        except OSError:
            continue  # it is another user's, or has ended
    return None


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""  # closed meanwhile


def check_libraries(
    requirements: Iterable[str] | None = None, version_of: Callable[[str], str] = metadata.version
) -> list[Finding]:
    """Whether each library that is installed has a version that Penstock takes."""
    found = [each for each in (_library(text, version_of) for text in _requirements(requirements)) if each]
    return found or [ok("libraries", "All libraries have versions that Penstock takes.")]


def _requirements(given: Iterable[str] | None) -> Iterable[str]:
    if given is not None:
        return given
    try:
        return metadata.requires("penstock") or ()
    except metadata.PackageNotFoundError:
        return ()


def _library(text: str, version_of: Callable[[str], str]) -> Finding | None:
    parts = _REQUIREMENT.match(text)
    if parts is None or parts[1].lower() == "penstock":
        return None
    name, bounds, marker = parts[1], parts[2], parts[3] or ""
    if "'dev'" in marker or '"dev"' in marker:
        return None
    try:
        version = version_of(name)
    except metadata.PackageNotFoundError:
        if marker:
            return None  # an extra that is not installed
        version = "not there"
    if version != "not there" and all(_holds(version, *bound) for bound in _BOUND.findall(bounds)):
        return None
    return problem(
        "libraries",
        f"{name} is {version}; Penstock needs {bounds.strip(' ()')}.",
        f"pip install '{name}{bounds.replace(' ', '').strip('()')}'",
    )


def _holds(version: str, sign: str, bound: str) -> bool:
    have, want = _numbers(version), _numbers(bound)
    if sign == "~=":
        return have >= want and have[: len(want) - 1] == want[:-1]
    if sign == "==":
        return have[: len(want)] == want
    if sign == "!=":
        return have[: len(want)] != want
    return {">=": have >= want, "<=": have <= want, "<": have < want, ">": have > want}[sign]


def _numbers(version: str) -> tuple[int, ...]:
    found = tuple(int(digits) for digits in re.findall(r"\d+", version.partition("+")[0]))
    while len(found) > 1 and found[-1] == 0:
        found = found[:-1]
    return found
