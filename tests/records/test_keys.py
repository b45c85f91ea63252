"""Where no compiler was found, the pure twins do the broker's work."""

from __future__ import annotations

import os
import subprocess
import sys

THE_WORK = ("tests/storage/test_contents.py", "tests/storage/test_cleaner.py")


def test_validation_and_compaction_work_with_the_pure_twin() -> None:
    environment = {**os.environ, "PENSTOCK_PURE_WALK": "1"}
    program = "from penstock.records import keys, walk; print(walk.ACTIVE, keys.OffsetMap.__module__)"
    said = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert said.stdout.split() == ["pure", "penstock.records._keys_pure"]
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *THE_WORK],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert tested.returncode == 0, tested.stdout
