"""A disk of one node: an ext4 file system in a file, mounted through a loop device, whose power can fail.

`cut_power` is ext4's shutdown ioctl without a flush of the journal: what was not synced is gone, and every
later write fails. That is what kill -9 can never show, because a killed process leaves the page cache behind.
Needs root and Linux; `why_not` says what the machine refused.
"""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Final, Self

EXT4_IOC_SHUTDOWN: Final = 0x8004587D
NO_LOG_FLUSH: Final = struct.pack("I", 2)
COMMAND_SECONDS: Final = 60


class Volume:
    """`with Volume(node.data, 64):` gives the node a disk of 64 MB; the image lies beside the mount point."""

    def __init__(self, mount_point: Path, size_mb: int) -> None:
        self.mount_point = mount_point
        self._image = mount_point.with_name(f"{mount_point.name}.ext4")
        self._size_mb = size_mb

    @staticmethod
    def why_not() -> str | None:
        """Why there can be no such disk here: the command that was refused, and its words."""
        if os.geteuid():
            return "loop mounts need root"
        try:
            with tempfile.TemporaryDirectory() as work, Volume(Path(work) / "disk", 16) as volume:
                volume.cut_power()
        except (OSError, subprocess.CalledProcessError) as error:
            refused = error.stderr if isinstance(error, subprocess.CalledProcessError) else error
            return f"loop mounts were refused: {error}: {refused}"
        return None

    def __enter__(self) -> Self:
        self.mount_point.mkdir(parents=True, exist_ok=True)
        with self._image.open("wb") as image:
            image.truncate(self._size_mb << 20)
        _run("mkfs.ext4", "-q", "-m", "0", str(self._image))
        self.mount()
        (self.mount_point / "lost+found").rmdir()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.unmount()
        self._image.unlink()

    def mount(self) -> None:
        """Power is back: the journal is replayed, and what was synced is there."""
        _run("mount", "-o", "loop", str(self._image), str(self.mount_point))

    def unmount(self) -> None:
        """Whoever used it must have ended."""
        _run("umount", str(self.mount_point))

    def cut_power(self) -> None:
        """From now on every write fails, and nothing that was not synced will be found again."""
        directory = os.open(self.mount_point, os.O_RDONLY)
        try:
            fcntl.ioctl(directory, EXT4_IOC_SHUTDOWN, NO_LOG_FLUSH)
        finally:
            os.close(directory)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=COMMAND_SECONDS)
