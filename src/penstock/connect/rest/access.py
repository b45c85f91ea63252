"""What a route of Connect needs: connectors act for the whole worker, so the cluster is what is asked for."""

from __future__ import annotations

from typing import Final

from penstock.security.access import Access, Open
from penstock.security.operations import Operation, ResourceType

READ: Final = Access(Operation.DESCRIBE, ResourceType.CLUSTER)
WRITE: Final = Access(Operation.ALTER, ResourceType.CLUSTER)
ANYBODY: Final = Open("it names no connector")
