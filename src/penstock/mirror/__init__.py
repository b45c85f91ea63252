"""Mirroring: topics, their configurations, ACLs and the offsets of groups kept alike on two clusters, as
MirrorMaker 2 keeps them.

`settings`, `policies`, `filters`, `layouts`, `translation`, `checkpoints` and `topics` decide and do no I/O.
`flow` and `service` run; the copy itself is a Spark query (`penstock.spark.mirroring`).
"""
