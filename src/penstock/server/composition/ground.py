"""What a node stands on: its settings, and the disk, clock and randomness that are handed in. The machine's
in `server.main`, simulated ones in the simulator."""

from __future__ import annotations

from random import Random
from typing import NamedTuple
from uuid import UUID

from penstock.clock import Clock
from penstock.settings import BrokerSettings
from penstock.storage.disk import Disk
from penstock.storage.together import Together


class Ground(NamedTuple):
    """Handed to every builder."""

    settings: BrokerSettings
    disk: Disk
    clock: Clock
    random: Random
    together: Together

    def new_id(self) -> bytes:
        """A random UUID (version 4), for topics and lives of brokers."""
        value = bytearray(self.random.randbytes(16))
        value[6] = value[6] & 0x0F | 0x40
        value[8] = value[8] & 0x3F | 0x80
        return bytes(value)

    def new_member_suffix(self) -> str:
        return str(UUID(bytes=self.new_id()))
