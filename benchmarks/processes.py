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


def cpu_seconds(pid: int) -> float:
    """User and system time of all threads so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
