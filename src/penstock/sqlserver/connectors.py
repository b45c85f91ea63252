"""CREATE, DROP, SHOW and DESCRIBE of connectors: requests to a Connect worker, ours or Kafka's, at
`ksql.connect.url`, as the server itself. Everything here blocks.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from decimal import Decimal
from typing import Any, Final
from urllib.parse import quote

from penstock.client.registry_access import RegistryAccess
from penstock.sql import statements as s
from penstock.sqlserver.entities import Entity, entity
from penstock.sqlserver.errors import BAD_STATEMENT, SERVER_ERROR, KsqlError
from penstock.wire.direct_http import open_direct
from penstock.wire.tls import client_context

TIMEOUT_S: Final = 30.0
_LARGEST: Final = 16 * 1024 * 1024
_CONFLICT, _NOT_FOUND = 409, 404


class ConnectError(KsqlError):
    """What the worker refused; `answered` is its status, 0 where none answered."""

    def __init__(self, message: str, answered: int) -> None:
        super().__init__(message, BAD_STATEMENT if 400 <= answered < 500 else SERVER_ERROR)
        self.answered = answered


class ConnectClient:
    def __init__(self, url: str, access: RegistryAccess | None = None) -> None:
        self._url = url.split(",")[0].rstrip("/")
        self._access = access or RegistryAccess()

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        if self._access.authorization:
            headers["Authorization"] = self._access.authorization
        request = urllib.request.Request(self._url + path, data, headers, method=method)
        context = None if self._access.tls is None else client_context(self._access.tls)
        try:
            with open_direct(request, TIMEOUT_S, context) as answer:
                text = answer.read(_LARGEST)
        except urllib.error.HTTPError as error:
            raise ConnectError(_message(error.read(_LARGEST)), error.code) from error
        except OSError as error:
            why = getattr(error, "reason", error)
            raise ConnectError(f"No Connect worker answers at {self._url}: {why}", 0) from error
        return json.loads(text) if text else None


def _message(data: bytes) -> str:
    try:
        return str(json.loads(data)["message"])
    except (ValueError, KeyError, TypeError):
        return data[:500].decode(errors="replace")


def create(client: ConnectClient, node: s.CreateConnector, text: str) -> Entity:
    config = {"name": node.name, **{each.name: _value(each) for each in node.properties}}
    try:
        made = client.ask("POST", "/connectors", {"name": node.name, "config": config})
    except ConnectError as error:
        if error.answered == _CONFLICT and node.if_not_exists:
            return entity("warning_entity", text, message=f"Connector {node.name} already exists")
        raise KsqlError(f"Failed to create connector: {error.message}", error.error_code) from error
    return entity("connector_info", text, info=made)


def _value(given: s.Property) -> str:
    value: Any = getattr(given.value, "value", None)
    if isinstance(value, bool):
        return str(value).lower()
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def drop(client: ConnectClient, node: s.DropConnector, text: str) -> Entity:
    try:
        client.ask("DELETE", f"/connectors/{quote(node.name, safe='')}")
    except ConnectError as error:
        if error.answered == _NOT_FOUND and node.if_exists:
            return entity("warning_entity", text, message=f"Connector '{node.name}' does not exist.")
        raise KsqlError(f"Failed to drop connector: {error.message}", error.error_code) from error
    return entity("drop_connector", text, connectorName=node.name)


def listed(client: ConnectClient, kind: str | None, text: str) -> Entity:
    """All connectors, or those of a kind: SOURCE or SINK."""
    known = client.ask("GET", "/connectors?expand=info&expand=status")
    found = []
    for name, each in sorted(known.items()):
        info, status = each["info"], each["status"]
        side = str(info.get("type") or status.get("type") or "unknown").lower()
        if kind is None or side == kind.lower():
            config = info["config"]
            line = {"name": name, "type": side, "className": config.get("connector.class", "")}
            found.append({**line, "state": _state(status)})
    return entity("connector_list", text, connectors=found)


def _state(status: Any) -> str:
    states = [task["state"] for task in status.get("tasks", [])]
    state = status["connector"]["state"]
    running = sum(each == "RUNNING" for each in states)
    shown = "WARNING" if state == "RUNNING" and states and 0 < running < len(states) else state
    return f"{shown} ({running}/{len(states)} tasks RUNNING)"


def plugins(client: ConnectClient, text: str) -> Entity:
    known = client.ask("GET", "/connector-plugins")
    found = [{"class": e["class"], "type": e.get("type", ""), "version": e.get("version", "")} for e in known]
    return entity("connector_plugins_list", text, connectorsPlugins=found)


def described(client: ConnectClient, name: str, text: str) -> Entity:
    path = f"/connectors/{quote(name, safe='')}"
    try:
        info, status = client.ask("GET", path), client.ask("GET", f"{path}/status")
        topics = client.ask("GET", f"{path}/topics")
    except ConnectError as error:
        raise KsqlError(f"Failed to query connector: {error.message}", error.error_code) from error
    used = topics.get(name, {}).get("topics", []) if isinstance(topics, dict) else []
    kind = info["config"].get("connector.class", "")
    return entity(
        "connector_description", text, connectorClass=kind, status=status, sources=[], topics=sorted(used)
    )
