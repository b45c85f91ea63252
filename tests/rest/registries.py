"""A Schema Registry for tests that are not about it: schemas in memory, behind the paths that clients use."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit


class Schemas:
    """Ids from 1 on; a subject's versions likewise."""

    def __init__(self) -> None:
        self.url = ""
        self.by_id: dict[int, dict[str, Any]] = {}
        self.versions: dict[str, list[int]] = {}

    def add(self, subject: str, schema: dict[str, Any]) -> int:
        schema = {"schemaType": "AVRO", **schema}
        found = next((known for known, each in self.by_id.items() if each == schema), len(self.by_id) + 1)
        self.by_id[found] = schema
        if found not in self.versions.setdefault(subject, []):
            self.versions[subject].append(found)
        return found

    def version(self, subject: str, schema_id: int) -> dict[str, Any]:
        version = self.versions[subject].index(schema_id) + 1
        return {"subject": subject, "id": schema_id, "version": version, **self.by_id[schema_id]}

    def answer(self, method: str, parts: list[str], body: dict[str, Any]) -> dict[str, Any]:
        """KeyError, IndexError and ValueError are "not found"."""
        match method, parts:
            case "GET", ["schemas", "ids", text]:
                return self.by_id[int(text)]
            case "GET", ["subjects", subject, "versions", version]:
                index = -1 if version == "latest" else int(version) - 1
                return self.version(subject, self.versions[subject][index])
            case "POST", ["subjects", subject, "versions"]:
                return {"id": self.add(subject, body)}
            case "POST", ["subjects", subject]:
                wanted = {"schemaType": "AVRO", **body}
                known = [each for each in self.versions[subject] if self.by_id[each] == wanted]
                return self.version(subject, known[0])
        raise KeyError(parts)


@contextmanager
def running_registry() -> Iterator[Schemas]:
    schemas = Schemas()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer("GET")

        def do_POST(self) -> None:
            self._answer("POST")

        def _answer(self, method: str) -> None:
            parts = [unquote(part) for part in urlsplit(self.path).path.strip("/").split("/")]
            body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
            wanted = {name: body[name] for name in ("schema", "schemaType") if name in body}
            try:
                status, answer = 200, schemas.answer(method, parts, wanted)
            except (KeyError, IndexError, ValueError):
                status, answer = 404, {"error_code": 40403, "message": "not found"}
            encoded = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/vnd.schemaregistry.v1+json")
            self.send_header("content-length", str(len(encoded)))
            self.end_headers()
            self.wfile.write(encoded)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    schemas.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield schemas
    finally:
        server.shutdown()
        server.server_close()
