"""A mirror as a process, and what tests ask both clusters: with a client that we did not write."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

PATIENCE_S = 240.0
T = TypeVar("T")
Message = tuple[bytes | None, bytes | None, Any, int]

QUICK = {
    "spark.master": "local[2]",
    "replication.factor": "1",
    "refresh.topics.interval.seconds": "1",
    "refresh.groups.interval.seconds": "1",
    "sync.topic.configs.interval.seconds": "1",
    "emit.checkpoints.interval.seconds": "1",
    "sync.group.offsets.enabled": "true",
    "sync.group.offsets.interval.seconds": "1",
    "offset-syncs.topic.replication.factor": "1",
    "checkpoints.topic.replication.factor": "1",
    "heartbeats.topic.replication.factor": "1",
    "offset.storage.replication.factor": "1",
    "status.storage.replication.factor": "1",
    "config.storage.replication.factor": "1",
}


def write_config(path: Path, clusters: Mapping[str, str], flows: list[str], **settings: str) -> Path:
    """An mm2.properties; settings are written with underscores for dots."""
    texts = {"clusters": ", ".join(clusters), **QUICK}
    texts |= {f"{alias}.bootstrap.servers": servers for alias, servers in clusters.items()}
    texts |= {f"{flow}.enabled": "true" for flow in flows}
    texts |= {name.replace("_", "."): text for name, text in settings.items()}
    path.write_text("".join(f"{name} = {text}\n" for name, text in texts.items()))
    return path


class Mirror:
    """`penstock mirror` in a process of its own."""

    def __init__(self, config: Path) -> None:
        self.config = config
        self.lines: list[str] = []
        self.url = ""
        self._process: subprocess.Popen[str] | None = None

    def command(self) -> list[str]:
        return [sys.executable, "-m", "penstock", "mirror", "--config", str(self.config)]

    def start(self, **environment: str) -> Self:
        self._process = subprocess.Popen(
            [*self.command(), "--listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, **environment},
        )
        assert self._process.stdout is not None
        threading.Thread(target=self._gather, args=(self._process.stderr,), daemon=True).start()
        line = self._process.stdout.readline()
        assert line.startswith("ready "), (line, self.told())
        self.url = "http://" + line.split()[1]
        return self

    def _gather(self, stream: Any) -> None:
        self.lines += stream

    def told(self) -> str:
        return "".join(self.lines)[-4000:]

    def ask(self, path: str) -> str:
        with urllib.request.urlopen(self.url + path, timeout=30) as answer:
            return str(answer.read().decode())

    def flows(self) -> dict[str, dict[str, Any]]:
        return {f"{each['source']}->{each['target']}": each for each in json.loads(self.ask("/flows"))}

    def stop(self) -> int:
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(90)

    def kill(self) -> None:
        """The driver with its JVM and its workers."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(30)
            self._process = None


def penstock(*words: str) -> str:
    """What a command prints; it must succeed."""
    done = subprocess.run(
        [sys.executable, "-m", "penstock", *words], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def until(what: str, condition: Callable[[], T], told: Callable[[], str] = str) -> T:
    """The first true answer; fails after a generous time."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        assert time.monotonic() < deadline, f"{what}: not so in {PATIENCE_S} s\n{told()}"
        time.sleep(0.3)
    return found


class Client:
    """One cluster, through librdkafka."""

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self.admin = AdminClient({"bootstrap.servers": servers})

    def create(self, name: str, partitions: int = 2, **config: str) -> None:
        settings = {key.replace("_", "."): value for key, value in config.items()}
        self.admin.create_topics([NewTopic(name, partitions, 1, config=settings)])[name].result(30)

    def topics(self) -> dict[str, int]:
        return {
            name: len(each.partitions) for name, each in self.admin.list_topics(timeout=30).topics.items()
        }

    def config(self, topic: str) -> dict[str, str]:
        """What is set for the topic itself."""
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        found = self.admin.describe_configs([resource])[resource].result(30)
        return {name: entry.value for name, entry in found.items() if entry.source == 1}

    def produce(self, topic: str, values: list[bytes], partitions: int = 2, **settings: Any) -> None:
        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 5, **settings})
        now_ms = int(time.time() * 1000)  # retention goes by the times of records
        for number, value in enumerate(values):
            producer.produce(
                topic,
                key=b"%d" % number,
                value=value or None,
                headers=[("n", b"%d" % number)],
                partition=number % partitions,
                timestamp=now_ms + number,
            )
        assert producer.flush(60) == 0

    def end(self, topic: str, partition: int) -> int:
        consumer = self._consumer("ends")
        high = int(consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=30)[1])
        consumer.close()
        return high

    def read(self, topic: str, partition: int = 0, offset: int = 0) -> list[Message]:
        """Every committed record from `offset` to the end of now."""
        consumer = self._consumer("look")
        consumer.assign([TopicPartition(topic, partition, offset)])
        found: list[Message] = []
        while True:
            message = consumer.poll(30)
            assert message is not None, f"{topic}: nothing after {len(found)} records"
            error = message.error()
            if error is None:
                found.append((message.key(), message.value(), message.headers(), message.timestamp()[1]))
            elif error.code() == KafkaError._PARTITION_EOF:
                consumer.close()
                return found

    def consume(self, group: str, topics: list[str], count: int) -> None:
        """Read so many records as a member of a group, and commit."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            }
        )
        consumer.subscribe(topics)
        got, deadline = 0, time.monotonic() + PATIENCE_S
        while got < count:
            assert time.monotonic() < deadline, f"{got} of {count}"
            message = consumer.poll(1)
            got += message is not None and message.error() is None
        consumer.commit(asynchronous=False)
        consumer.close()

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        asked = ConsumerGroupTopicPartitions(group)
        found = self.admin.list_consumer_group_offsets([asked])[group].result(30)
        return {(each.topic, each.partition): each.offset for each in found.topic_partitions}

    def _consumer(self, group: str) -> Consumer:
        return Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": group,
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
            }
        )
