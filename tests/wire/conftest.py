"""The wire client is tried on our broker and on Apache's."""

from __future__ import annotations

from tests.peers.brokers import apache_kafka, cluster, new_topic, penstock_servers, servers

__all__ = ["apache_kafka", "cluster", "new_topic", "penstock_servers", "servers"]
