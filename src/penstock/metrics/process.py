"""Numbers of a process as a whole: CPU, memory, open files. The one module here that asks the machine."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from penstock.metrics.text import Family, Sample

CPU: Final = Family("process_cpu_seconds_total", "counter", "CPU time of the process.")
MEMORY: Final = Family("process_resident_memory_bytes", "gauge", "Memory of the process.")
FILES: Final = Family("process_open_fds", "gauge", "Files and sockets that the process has open.")
FAMILIES: Final = (CPU, MEMORY, FILES)


def process_samples() -> Iterator[Sample]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    yield Sample(CPU, {}, used.ru_utime + used.ru_stime)
    yield Sample(MEMORY, {}, _resident_bytes(used.ru_maxrss))
    files = Path("/proc/self/fd")
    if files.is_dir():
        yield Sample(FILES, {}, len(os.listdir(files)))


def _resident_bytes(largest_kb: int) -> int:
    """Memory in use now; where the system does not tell, the most that it ever was."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return largest_kb * 1024
    return pages * os.sysconf("SC_PAGE_SIZE")
