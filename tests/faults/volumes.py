"""A cluster whose brokers have a disk each, which can lose its power, fail or be full."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest

from penstock.testing.cluster import Cluster, Software, Volume
from tests.faults.clusters import QUICK

VOLUME_MB: Final = 192
CHUNK: Final = bytes(1 << 20)
BLOCK: Final = bytes(1 << 12)


class Powered:
    """A cluster on volumes of its own."""

    def __init__(self, cluster: Cluster, volumes: dict[int, Volume]) -> None:
        self.cluster = cluster
        self._volumes = volumes

    def fail(self, number: int) -> None:
        """Every write of this broker fails from now on; it is left to find out by itself."""
        self._volumes[number].cut_power()

    def fill(self, number: int) -> Path:
        """No space is left; there is some again when the file is removed."""
        ballast = self._volumes[number].mount_point / "ballast"
        with ballast.open("wb", buffering=0) as file:
            for chunk in (CHUNK, BLOCK, BLOCK):
                with contextlib.suppress(OSError):
                    while os.write(file.fileno(), chunk):
                        pass
                # What was put aside for blocks that are not placed yet is free for others when they are.
                os.fsync(file.fileno())
        return ballast

    def cut(self, numbers: list[int]) -> None:
        """Cut first and kill then: whatever a broker still says in between rests on writes that failed."""
        for number in numbers:
            self._volumes[number].cut_power()
        for number in numbers:
            self.cluster.brokers[number].kill()

    def restore(self, numbers: list[int]) -> None:
        for number in numbers:
            self._volumes[number].unmount()
            self._volumes[number].mount()
            self.cluster.brokers[number].start()
        self.cluster.wait_for_brokers(self.cluster.brokers)


class TwoDisks:
    """A cluster whose brokers have a second log directory each, on a disk of its own; the metadata is in the
    first."""

    def __init__(self, cluster: Cluster, volumes: dict[int, Volume]) -> None:
        self.cluster = cluster
        self._volumes = volumes

    def fail(self, number: int) -> None:
        """Every write to the second disk of this broker fails from now on."""
        self._volumes[number].cut_power()

    def repair(self, number: int) -> None:
        """The broker stops, and comes back with its second disk."""
        self.cluster.brokers[number].stop()
        self._volumes[number].unmount()
        self._volumes[number].mount()
        self.cluster.brokers[number].start()
        self.cluster.wait_for_brokers(self.cluster.brokers)

    def has_on_second(self, number: int, log: str) -> bool:
        return self.cluster.brokers[number].directory_of(log) == self._volumes[number].mount_point


@contextmanager
def two_disks(directory: Path, software: Software) -> Iterator[TwoDisks]:
    if (reason := Volume.why_not()) is not None:
        pytest.skip(reason)
    cluster = Cluster(directory, software, settings=QUICK)
    with ExitStack() as stack:
        volumes = {}
        for number, node in cluster.brokers.items():
            volumes[number] = stack.enter_context(Volume(node.home / "second", VOLUME_MB))
            node.properties["log.dirs"] += f",{volumes[number].mount_point}"
        stack.enter_context(cluster)
        yield TwoDisks(cluster, volumes)


@contextmanager
def powered(directory: Path, software: Software, settings: dict[str, str]) -> Iterator[Powered]:
    if (reason := Volume.why_not()) is not None:
        pytest.skip(reason)
    cluster = Cluster(directory, software, settings={**QUICK, **settings})
    with ExitStack() as stack:
        volumes = {
            number: stack.enter_context(Volume(node.data, VOLUME_MB))
            for number, node in cluster.brokers.items()
        }
        stack.enter_context(cluster)
        yield Powered(cluster, volumes)
