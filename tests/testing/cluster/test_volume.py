"""When the power of a volume fails, what was synced is there afterwards and nothing else; until then every
write fails."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.testing.cluster import Volume


def test_only_what_was_synced_survives_a_power_cut(tmp_path: Path) -> None:
    if (reason := Volume.why_not()) is not None:
        pytest.skip(reason)
    with Volume(tmp_path / "disk", 16) as volume:
        path = volume.mount_point / "file"
        file = os.open(path, os.O_WRONLY | os.O_CREAT)
        os.write(file, b"synced")
        os.fsync(file)
        os.write(file, b" and not")
        volume.cut_power()
        with pytest.raises(OSError, match="Input/output error"):
            os.write(file, b"refused")
        os.close(file)
        volume.unmount()
        volume.mount()
        assert path.read_bytes() == b"synced"
