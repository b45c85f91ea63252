"""Several workers on one port: what one of them has registered, all of them find at once."""

from __future__ import annotations

import http.client
import json
from contextlib import closing
from typing import Any

from penstock.testing import Broker
from tests.rest.proxies import running_service


def ask(address: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """Over a connection of its own, so that any worker may have it."""
    with closing(http.client.HTTPConnection(address, timeout=30)) as connection:
        connection.request(method, path, None if body is None else json.dumps(body))
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


def test_what_one_worker_has_registered_is_found_by_all(broker: Broker) -> None:
    topic = ("--set", "kafkastore.topic=_schemas_of_workers")
    with running_service("registry", broker.bootstrap_servers, "--workers", "2", *topic) as service:
        for number in range(20):
            schema = json.dumps({"type": "enum", "name": "E", "symbols": [f"S{number}"]})
            status, made = ask(service.address, "POST", f"/subjects/s{number}/versions", {"schema": schema})
            assert status == 200, made
            assert made["id"] == number + 1
            for path in (f"/schemas/ids/{made['id']}", f"/subjects/s{number}/versions/1"):
                status, found = ask(service.address, "GET", path)
                assert (status, found["schema"]) == (200, schema.replace(" ", "")), found
        assert ask(service.address, "GET", "/schemas/ids/999")[0] == 404
        assert ask(service.address, "DELETE", "/subjects/s3") == (200, [1])
