"""A registry small enough for a test: Confluent's paths for registering and reading, and nothing else."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote


class RegistryStub:
    """Schemas by id, versions by subject. `asked` counts what was asked for."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[str] = []
        self._bodies: list[dict[str, Any]] = []
        self._subjects: dict[str, list[int]] = {}
        self._lock = threading.Lock()

    def register(self, subject: str, text: str, kind: str = "AVRO", references: Any = ()) -> int:
        body: dict[str, Any] = {"schema": text, "references": list(references)}
        if kind != "AVRO":
            body["schemaType"] = kind
        with self._lock:
            if body not in self._bodies:
                self._bodies.append(body)
            number = self._bodies.index(body) + 1
            versions = self._subjects.setdefault(subject, [])
            if number not in versions:
                versions.append(number)
        return number

    def answer(self, path: str) -> Any:
        """The body of a GET, None when there is nothing at the path."""
        self.asked.append(path)
        parts = [unquote(part) for part in path.split("?")[0].strip("/").split("/")]
        with self._lock:
            if parts[:2] == ["schemas", "ids"] and 0 < int(parts[2]) <= len(self._bodies):
                return self._bodies[int(parts[2]) - 1]
            if parts[0] == "subjects" and parts[1] in self._subjects:
                versions = self._subjects[parts[1]]
                version = len(versions) if parts[3] == "latest" else int(parts[3])
                if version <= len(versions):
                    number = versions[version - 1]
                    return {"id": number, "version": version, **self._bodies[number - 1]}
        return None


@contextmanager
def registry_stub(*, broken: bool = False) -> Iterator[RegistryStub]:
    stub = RegistryStub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = None if broken else stub.answer(self.path)
            if broken:
                self._reply(500, {"error_code": 50001, "message": "It is broken"})
            elif found is None:
                self._reply(404, {"error_code": 40401, "message": "Subject or schema not found."})
            else:
                self._reply(200, found)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            subject = unquote(self.path.split("/")[2])
            kind, references = body.get("schemaType", "AVRO"), body.get("references", ())
            number = stub.register(subject, body["schema"], kind, references)
            self._reply(200, {"id": number})

        def _reply(self, status: int, body: Any) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    stub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
