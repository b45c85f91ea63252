"""One `Cluster` for each address and process: a Python worker serves many tasks and keeps its connections."""

from __future__ import annotations

import os
import threading
from typing import Final

from penstock.wire.cluster import Cluster

MOST: Final = 16
"""Who reads and writes more clusters than this connects anew when it comes back to the first."""
_lock = threading.Lock()
_clusters: dict[tuple[int, str, str], Cluster] = {}  # what was asked for last comes last


def cluster_for(bootstrap_servers: str, client_id: str) -> Cluster:
    """The process's own cluster; a forked worker does not touch the sockets of the one that it came from."""
    key = (os.getpid(), bootstrap_servers, client_id)
    with _lock:
        cluster = _clusters.pop(key, None) or Cluster(bootstrap_servers, client_id=client_id)
        _clusters[key] = cluster
        left = [(each, _clusters.pop(each)) for each in list(_clusters)[:-MOST]]
    for (process, *_), old in left:
        if process == key[0]:
            old.close()  # whoever still has it may go on: it opens again what it needs
    return cluster
