"""The registry, Connect, SQL and a mirror in memory: what answers in place of the network in tests."""

from __future__ import annotations

import json
from typing import Any

import httpx

RECORD = '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}'
PLUGIN = "penstock.connect.connectors.file.FileStreamSource"
SETTINGS = [
    {"name": "file", "type": "STRING", "required": True, "default_value": None, "importance": "HIGH",
     "documentation": "The file to read.", "group": "File", "display_name": "File"},
    {"name": "batch.size", "type": "INT", "required": False, "default_value": "100", "importance": "LOW",
     "documentation": "Lines at a time.", "group": "File", "display_name": "Batch size"},
]  # fmt: skip


class FakeServices:
    """Set `away` to let nothing answer."""

    def __init__(self) -> None:
        self.away = False
        self.subjects: dict[str, list[str]] = {"orders-value": [RECORD]}
        self.connectors: dict[str, dict[str, Any]] = {}
        self.redriven: list[str] = []
        self.statements: list[str] = []
        self.validated: list[dict[str, str]] = []
        self.queries = {"CSAS_BIG_1": "RUNNING"}
        self.metrics = ""
        """What the SQL server publishes for Prometheus."""
        self.flows: list[dict[str, Any]] = []
        self.sent: list[tuple[str, Any]] = []
        """What webhooks were sent."""

    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self._answer)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        if self.away:
            raise httpx.ConnectError("Connection refused")
        body = json.loads(request.content) if request.content else None
        parts = [part for part in request.url.path.split("/") if part]
        if request.url.host == "hooks.test":
            self.sent.append((request.url.path, body))
            return httpx.Response(200)
        answers = {8081: self._registry, 8083: self._connect, 8084: self._mirror, 8088: self._sql}
        return answers[request.url.port or 0](request.method, parts, body)

    # -- registry

    def _registry(self, method: str, parts: list[str], body: Any) -> httpx.Response:
        match method, parts:
            case "GET", ["schemas"]:
                return _json([self._version(name, len(each)) for name, each in self.subjects.items()])
            case "GET", ["subjects", name, "versions"]:
                if name not in self.subjects:
                    return _json({"error_code": 40401, "message": f"Subject '{name}' not found."}, 404)
                return _json(list(range(1, len(self.subjects[name]) + 1)))
            case "GET", ["subjects", _, "versions", _, "referencedby"]:
                return _json([])
            case "GET", ["subjects", name, "versions", number]:
                return _json(self._version(name, int(number)))
            case "GET", ["config", _]:
                return _json({"error_code": 40408, "message": "no level of its own"}, 404)
            case "GET", ["config"]:
                return _json({"compatibilityLevel": "BACKWARD"})
            case "POST", ["compatibility", "subjects", _, "versions"]:
                fits = "default" in body["schema"]
                return _json(
                    {"is_compatible": fits, "messages": [] if fits else ["READER_FIELD_MISSING: total"]}
                )
            case "POST", ["subjects", name, "versions"]:
                self.subjects.setdefault(name, []).append(body["schema"])
                return _json({"id": len(self.subjects[name])})
        return _json({"error_code": 404, "message": "no such path"}, 404)

    def _version(self, name: str, number: int) -> dict[str, Any]:
        return {"subject": name, "version": number, "id": number, "schema": self.subjects[name][number - 1]}

    # -- a mirror

    def _mirror(self, method: str, parts: list[str], _body: Any) -> httpx.Response:
        assert (method, parts) == ("GET", ["flows"])
        return _json(self.flows)

    # -- Connect

    def _connect(self, method: str, parts: list[str], body: Any) -> httpx.Response:
        match method, parts:
            case "GET", ["connectors"]:
                return _json({name: self._expanded(name) for name in self.connectors})
            case "GET", ["connector-plugins"]:
                return _json([{"class": PLUGIN, "type": "source", "version": "1"}])
            case "GET", ["connector-plugins", _, "config"]:
                return _json(SETTINGS)
            case "PUT", ["connector-plugins", _, "config", "validate"]:
                self.validated.append(body)
                errors = [] if body.get("file") else ['Missing required configuration "file"']
                return _json({"configs": [{"value": {"name": "file", "errors": errors}}]})
            case "POST", ["connectors"]:
                self.connectors[body["name"]] = {"config": body["config"], "state": "RUNNING", "trace": None}
                return _json({}, 201)
            case "GET", ["connectors", name, "topics"]:
                return _json({name: {"topics": ["orders"]}})
            case "GET", ["connectors", _, "offsets"]:
                return _json({"offsets": [{"partition": {"file": "a"}, "offset": {"position": 3}}]})
            case "PUT", ["connectors", name, verb]:
                self.connectors[name]["state"] = {"pause": "PAUSED", "resume": "RUNNING"}[verb]
                return httpx.Response(202)
            case "POST", ["connectors", name, "restart"]:
                self.connectors[name] |= {"state": "RUNNING", "trace": None}
                return httpx.Response(204)
            case "POST", ["connectors", name, "redrive"]:
                self.redriven.append(name)
                return _json({"redriven": 1})
            case "DELETE", ["connectors", name]:
                del self.connectors[name]
                return httpx.Response(204)
        return _json({"error_code": 404, "message": "no such path"}, 404)

    def fail(self, name: str, trace: str) -> None:
        self.connectors[name] |= {"state": "FAILED", "trace": trace}

    def _expanded(self, name: str) -> dict[str, Any]:
        found = self.connectors[name]
        state = {"state": found["state"], "worker_id": "w:8083", "trace": found["trace"]}
        status = {"connector": state, "tasks": [{"id": 0, **state}], "type": "source"}
        return {"status": status, "info": {"config": found["config"]}}

    # -- SQL

    def _sql(self, method: str, parts: list[str], body: Any) -> httpx.Response:
        match method, parts:
            case "GET", ["metrics"]:
                return httpx.Response(200, text=self.metrics)
            case "POST", ["query-stream"]:
                return httpx.Response(200, text=self._select(body["sql"]))
            case "POST", ["ksql"]:
                self.statements.append(body["ksql"])
                return self._statement(body["ksql"])
        return _json({"error_code": 40400, "message": "no such path"}, 404)

    def _select(self, text: str) -> str:
        if "NOWHERE" in text:
            return json.dumps(
                {"@type": "generic_error", "error_code": 40001, "message": "NOWHERE does not exist"}
            )
        head = {"queryId": "q", "columnNames": ["ID", "TOTAL"], "columnTypes": ["BIGINT", "DOUBLE"]}
        return "\n".join(json.dumps(line) for line in (head, [1, 2.5], [2, None]))

    def _statement(self, text: str) -> httpx.Response:
        if text.startswith("SHOW QUERIES EXTENDED"):
            queries = [
                {"id": name, "statementText": "CREATE STREAM BIG AS SELECT …", "sources": ["ORDERS"],
                 "sinks": ["BIG"], "topology": TOPOLOGY, "executionPlan": "> project", "state": state}
                for name, state in self.queries.items()
            ]  # fmt: skip
            streams = [
                {"name": "ORDERS", "topic": "orders", "valueFormat": "JSON"},
                {"name": "BIG", "topic": "payments", "valueFormat": "JSON"},
            ]
            return _json([{"queryDescriptions": queries}, {"streams": streams}, {"tables": []}])
        if text.startswith("EXPLAIN"):
            return _json([{"queryDescription": {"topology": TOPOLOGY, "executionPlan": "> project"}}])
        if text.startswith("TERMINATE"):
            del self.queries[text.split()[1].rstrip(";")]
            return _json([{"commandStatus": {"status": "SUCCESS", "message": "Query terminated."}}])
        if "BROKEN" in text:
            return _json({"error_code": 40001, "message": "line 1: BROKEN is no statement"}, 400)
        return _json([{"commandStatus": {"status": "SUCCESS", "message": "Stream created"}}])


TOPOLOGY = """Topologies:
   Sub-topology: 0
    Source: KSTREAM-SOURCE-1 (topics: [orders])
      --> KSTREAM-FILTER-2
    Processor: KSTREAM-FILTER-2 (stores: [])
      --> KSTREAM-SINK-3
      <-- KSTREAM-SOURCE-1
    Sink: KSTREAM-SINK-3 (topic: payments)
      <-- KSTREAM-FILTER-2
"""


def _json(value: Any, status: int = 200) -> httpx.Response:
    return httpx.Response(status, json=value)
