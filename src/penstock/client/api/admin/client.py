"""`Admin`: Java's `Admin` in snake_case. Each call returns futures under the names of Java's results."""

from __future__ import annotations

from penstock.client.api.admin.access import Access
from penstock.client.api.admin.cluster import ClusterCalls
from penstock.client.api.admin.configs import Configs
from penstock.client.api.admin.groups import Groups
from penstock.client.api.admin.replicas import Replicas
from penstock.client.api.admin.topics import Topics
from penstock.client.api.admin.transactions import Transactions


class Admin(Topics, Configs, Groups, Access, Replicas, Transactions, ClusterCalls):
    """`Admin({"bootstrap.servers": …})`; a context manager that closes it. Safe for many threads."""
