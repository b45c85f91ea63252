"""A cluster of real processes to be hurt: killed, paused, cut off, robbed of its disks.

`Cluster` starts nodes from properties files; `Penstock` is what it runs unless it is told another `Software`.
`Network` gives each node an address of its own and cuts between them, `Volume` is a disk whose power fails,
`read_replica` reads a broker's files behind its back. For fault tests and benchmarks.
"""

from __future__ import annotations

from penstock.testing.cluster.cluster import Cluster
from penstock.testing.cluster.network import Network
from penstock.testing.cluster.node import Node
from penstock.testing.cluster.replica_files import read_replica
from penstock.testing.cluster.software import Penstock, Software
from penstock.testing.cluster.views import PartitionView
from penstock.testing.cluster.volume import Volume

__all__ = ["Cluster", "Network", "Node", "PartitionView", "Penstock", "Software", "Volume", "read_replica"]
