"""A work queue by a share group: workers take records of the same partition, and give back what failed.

    python examples/client/work_queue.py [SERVERS]

More workers than partitions make sense here, and one slow record holds nobody up. Needs a cluster with share
groups (KIP-932).
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from penstock.client import AcknowledgeType, ConsumerRecord, ShareConsumer, StringDeserializer

Work = Callable[[ConsumerRecord], None]


def run(servers: str, topic: str, group: str, work: Work, goes_on: Callable[[], bool]) -> None:
    settings = {
        "bootstrap.servers": servers,
        "group.id": group,
        "share.acknowledgement.mode": "explicit",
        "value.deserializer": StringDeserializer,
    }
    with ShareConsumer(settings) as consumer:
        consumer.subscribe([topic])
        while goes_on():
            for record in consumer.poll(0.5):
                try:
                    work(record)
                except ValueError:
                    consumer.acknowledge(record, AcknowledgeType.REJECT)  # it can never be done
                except Exception:
                    consumer.acknowledge(record, AcknowledgeType.RELEASE)  # a worker tries again
                else:
                    consumer.acknowledge(record)
            consumer.commit_sync()


if __name__ == "__main__":
    servers = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9092"
    run(servers, "jobs", "workers", lambda record: print(record.value), lambda: True)
