"""What `penstock up` looks at before it starts anything: what would fail later is said now, with its fix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from penstock.platform.doctor import data, machine
from penstock.platform.doctor.findings import Finding, Level
from penstock.platform.supervisor import ServiceFailed


def check_before_start(
    folder: Path, environ: Mapping[str, str], warn: Callable[[str], None], *, needs_spark: bool
) -> None:
    """Raises `ServiceFailed` for what makes a start useless; `warn` gets what only makes it worse."""
    found = [*data.check_data(folder), machine.check_memory()]
    java = machine.check_java(environ)
    if needs_spark:
        found.append(java)
    elif java.fix:
        warn(f"Warning: {java.what}\n  → {java.fix}")
    for finding in found:
        if finding.level is Level.PROBLEM and finding.check != "clock":
            raise ServiceFailed(_text(finding))
        if finding.level is not Level.OK:
            warn(f"Warning: {_text(finding)}")


def _text(finding: Finding) -> str:
    return f"{finding.what}\n  → {finding.fix}"
