"""`penstock rest` and other services as processes for tests, and the words of their clients."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx

V2 = "application/vnd.kafka.v2+json"


def embedded(name: str) -> str:
    return f"application/vnd.kafka.{name}.v2+json"


class Service(NamedTuple):
    """A running process of `penstock`."""

    address: str
    pid: int


@contextmanager
def running_service(name: str, bootstrap_servers: str, *options: str) -> Iterator[Service]:
    command = [sys.executable, "-m", "penstock", name, "--listen", "127.0.0.1:0"]
    command += ["--bootstrap-servers", bootstrap_servers, "--log-level", "warning", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        word, _, address = process.stdout.readline().strip().partition(" ")
        assert word == "ready"
        yield Service(address, process.pid)
    finally:
        process.terminate()
        assert process.wait(20) == 0


@contextmanager
def running_proxy(bootstrap_servers: str, **settings: str) -> Iterator[Proxy]:
    """`settings` have underscores for dots."""
    options = [part for name, value in settings.items() for part in ("--set", f"{_dotted(name)}={value}")]
    with (
        running_service("rest", bootstrap_servers, *options) as (address, pid),
        httpx.Client(base_url=f"http://{address}", timeout=30) as client,
    ):
        yield Proxy(client, pid, address)


class Proxy:
    """What tests ask of it."""

    def __init__(self, client: httpx.Client, pid: int, address: str) -> None:
        self.client = client
        self.pid = pid
        self.address = address

    def send(self, method: str, path: str, body: Any = None, content_type: str = V2) -> httpx.Response:
        content = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        headers = {"content-type": content_type} if body is not None else {}
        return self.client.request(method, path, content=content, headers=headers)

    def produce(self, topic: str, form: str, body: Any, partition: int | None = None) -> httpx.Response:
        at = f"/topics/{topic}" if partition is None else f"/topics/{topic}/partitions/{partition}"
        return self.send("POST", at, body, embedded(form))

    def consumer(self, group: str, name: str, form: str = "binary", **more: Any) -> str:
        """Makes an instance; returns its path."""
        settings = {"auto.offset.reset": "earliest", "fetch.min.bytes": 0, **more}
        made = self.send("POST", f"/consumers/{group}", {"name": name, "format": form, **settings})
        assert made.status_code == 200, made.text
        assert made.json() == {
            "instance_id": name,
            "base_uri": f"http://{self.address}/consumers/{group}/instances/{name}",
        }
        return f"/consumers/{group}/instances/{name}"

    def read(self, instance: str, form: str = "binary", **query: Any) -> httpx.Response:
        return self.client.get(f"{instance}/records", headers={"accept": embedded(form)}, params=query)

    def read_until(self, instance: str, wanted: int, form: str = "binary") -> list[dict[str, Any]]:
        """Records of as many reads as it takes."""
        found: list[dict[str, Any]] = []
        deadline = time.monotonic() + 20
        while len(found) < wanted:
            assert time.monotonic() < deadline, f"{len(found)} of {wanted} records came"
            answer = self.read(instance, form)
            assert answer.status_code == 200, answer.text
            found += answer.json()
        return found

    def cluster(self) -> str:
        """The path of the one cluster."""
        (found,) = self.client.get("/v3/clusters").json()["data"]
        return f"/v3/clusters/{found['cluster_id']}"

    def resident_bytes(self) -> int:
        with open(f"/proc/{self.pid}/statm") as statm:
            return int(statm.read().split()[1]) * 4096


def _dotted(name: str) -> str:
    return name.replace("_", ".")
