"""One `Cluster` for each address and process: a Python worker serves many tasks and keeps its connections."""

from __future__ import annotations

import os
import threading
from typing import Final

from penstock.security.client_settings import ClientSettings
from penstock.wire.cluster import Cluster

MOST: Final = 16
"""A process that reads and writes more clusters than this connects anew when it comes back to the first."""
_lock = threading.Lock()
_clusters: dict[tuple[int, ClientSettings], Cluster] = {}  # in the order of their last use


def cluster_for(settings: ClientSettings) -> Cluster:
    """The process's own cluster; a forked worker does not touch the sockets of the one that it came from."""
    key = (os.getpid(), settings)
    with _lock:
        cluster = _clusters.pop(key, None) or Cluster.of(settings)
        _clusters[key] = cluster
        left = [(each, _clusters.pop(each)) for each in list(_clusters)[:-MOST]]
    for (process, _), old in left:
        if process == key[0]:
            old.close()  # a task that still has it may go on: it opens again what it needs
    return cluster
