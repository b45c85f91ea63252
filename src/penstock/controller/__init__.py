"""Cluster metadata: topics, partitions, configs, producer ids. Decide → records → replay; no sockets, no
files of its own."""
