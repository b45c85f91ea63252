"""Fixtures of this area: Apache's broker, and the pair of it and ours."""

from __future__ import annotations

from tests.peers.apache_kafka import apache_kafka as apache_kafka
from tests.peers.asking import pair as pair
