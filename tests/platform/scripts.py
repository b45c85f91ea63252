"""Small services for the supervisor's tests: real processes that obey, die, resist or leave others behind."""

from __future__ import annotations

from pathlib import Path

from penstock.platform.process import Service

OBEDIENT = """
import signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
print("ready here", flush=True)
while True:
    signal.pause()
"""
STUBBORN = OBEDIENT.replace("lambda *_: sys.exit(0)", "signal.SIG_IGN")
SILENT = OBEDIENT.replace('print("ready here", flush=True)', "")
DIES_AT_ONCE = "print('the cause of it'); raise SystemExit(3)"
DIES_LATER = "print('ready', flush=True); input_is_not_defined"
FINISHES = "print('ready', flush=True)"
LEAVES_ANOTHER = """
import subprocess, sys
other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("ready", other.pid, flush=True)
other.wait()
"""


def service(
    tmp_path: Path, name: str, source: str, *, may_finish: bool = False, within_s: float = 20
) -> Service:
    """A service that runs a source text."""
    path = tmp_path / f"{name}.py"
    path.write_text(source)
    return Service(name, (str(path),), ready_within_s=within_s, stop_within_s=within_s, may_finish=may_finish)
