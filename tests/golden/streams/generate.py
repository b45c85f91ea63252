"""Makes `goldens.json` with Kafka Streams' own test driver: `python -m tests.golden.streams.generate`.

Without `--all` only scenarios that have no golden yet are run. It needs a JDK, and Maven the first time. The
data is committed; tests only read it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.peers.apache_kafka import streams_jars

HERE = Path(__file__).parent
PATIENCE_SECONDS = 3600


def main() -> None:
    scenarios = json.loads((HERE / "scenarios.json").read_text())
    target = HERE / "goldens.json"
    known: dict[str, Any] = {} if "--all" in sys.argv else json.loads(target.read_text())
    names = [f"{topology} of {inputs}" for topology, inputs in scenarios["scenarios"]]
    missing = [one for one, name in zip(scenarios["scenarios"], names, strict=True) if name not in known]
    known |= _run({**scenarios, "scenarios": missing})
    written = {name: known[name] for name in names}
    target.write_text(json.dumps(written, ensure_ascii=False, separators=(",", ":")))


def _run(scenarios: dict[str, Any]) -> dict[str, Any]:
    libs = streams_jars()
    with tempfile.TemporaryDirectory() as work:
        sources = sorted(str(path) for path in (HERE / "java").glob("*.java"))
        compile_java = ["javac", "-nowarn", "-cp", f"{libs}/*", "-d", work, *sources]
        subprocess.run(compile_java, check=True, timeout=PATIENCE_SECONDS)
        asked, given = Path(work) / "scenarios.json", Path(work) / "goldens.json"
        asked.write_text(json.dumps(scenarios))
        run = ["java", f"-Djava.io.tmpdir={work}", "-cp", f"{libs}/*:{work}", "Goldens"]
        subprocess.run([*run, str(asked), str(given)], check=True, timeout=PATIENCE_SECONDS)
        found: dict[str, Any] = json.loads(given.read_text())
        return found


if __name__ == "__main__":
    main()
