"""What Linux says about a running process."""

from __future__ import annotations

import os
from pathlib import Path


def rss_mb(pid: int) -> float:
    """Resident memory now; for a JVM that includes the pages of mapped index files."""
    return _status_kb(pid, "VmRSS") / 1e3


def peak_rss_mb(pid: int) -> float:
    return _status_kb(pid, "VmHWM") / 1e3


def _status_kb(pid: int, field: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return float(value.split()[0]) * 1.024
    raise LookupError(f"/proc/{pid}/status has no {field}")


def family_cpu_seconds(pid: int, without: int) -> float:
    """User and system time of a process and of all its descendants, living and waited for, but for one."""
    parents, used = {}, {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        number = int(entry.parent.name)
        parents[number], used[number] = int(fields[1]), sum(map(int, fields[11:15]))
    ticks = sum(
        spent for number, spent in used.items() if number != without and pid in _ancestors(number, parents)
    )
    return ticks / os.sysconf("SC_CLK_TCK")


def _ancestors(pid: int, parents: dict[int, int]) -> set[int]:
    found = {pid}
    while (pid := parents.get(pid, 0)) > 1 and pid not in found:
        found.add(pid)
    return found


def cpu_seconds(pid: int) -> float:
    """User and system time of all threads so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
