"""One `Cluster` for each address and process: a Python worker serves many tasks and keeps its connections."""

from __future__ import annotations

import os
import threading

from penstock.wire.cluster import Cluster

_lock = threading.Lock()
_clusters: dict[tuple[int, str, str], Cluster] = {}


def cluster_for(bootstrap_servers: str, client_id: str) -> Cluster:
    """The process's own cluster; a forked worker does not touch the sockets of the one that it came from."""
    key = (os.getpid(), bootstrap_servers, client_id)
    with _lock:
        if key not in _clusters:
            _clusters[key] = Cluster(bootstrap_servers, client_id=client_id)
        return _clusters[key]
