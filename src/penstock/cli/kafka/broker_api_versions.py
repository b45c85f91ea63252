"""`kafka-broker-api-versions`: which versions of which requests each broker understands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.cli.kafka.asking import Asker, check
from penstock.cli.kafka.options import CommandFailed, Parser
from penstock.cli.kafka.properties import load_properties
from penstock.cli.kafka.request_names import CLIENT_REQUESTS, NODE_REQUESTS
from penstock.cli.kafka.starting import script


def broker_api_versions(words: Sequence[str]) -> int:
    given = _parser().parse(words)
    given.require("bootstrap-server")
    asker = Asker(given.value("bootstrap-server"), load_properties(given.value("command-config")))
    for node_id, node in asker.nodes().items():
        print(
            f"{node.host}:{node.port} (id: {node_id} rack: {node.rack or 'null'} isFenced: false) -> ", end=""
        )
        try:
            print(_versions(asker, node_id))
        except CommandFailed as error:
            print(f"ERROR: {error}")
    return 0


def _versions(asker: Asker, node_id: int) -> str:
    from penstock.protocol.apis import Api

    fields = {"client_software_name": "penstock", "client_software_version": "1"}
    answer = asker.broker(node_id, Api.API_VERSIONS, fields, (3, 4))
    check(answer)
    found = {one.api_key: one for one in answer.api_keys}
    lines = {key: _text(key, one) for key, one in found.items()}
    for key, kind in CLIENT_REQUESTS.items():
        lines.setdefault(key, f"{kind.name}({key}): UNSUPPORTED")
    return "(\n\t" + ",\n\t".join(lines[key] for key in sorted(lines)) + "\n)"


def _text(key: int, versions: Any) -> str:
    oldest, newest = versions.min_version, versions.max_version
    shown = str(oldest) if oldest == newest else f"{oldest} to {newest}"
    kind = CLIENT_REQUESTS.get(key) or NODE_REQUESTS.get(key)
    if kind is None:
        return f"UNKNOWN({key}): {shown}"
    if kind.newest < oldest:
        usable = "unusable: node too new"
    elif newest < kind.oldest:
        usable = "unusable: node too old"
    else:
        usable = f"usable: {min(kind.newest, newest)}"
    return f"{kind.name}({key}): {shown} [{usable}]"


def _parser() -> Parser:
    options = Parser("This tool helps to retrieve broker version information.")
    options.takes(
        "command-config",
        what="command config property file",
        text="A property file containing configs to be passed to Admin Client.",
    )
    options.takes(
        "bootstrap-server",
        what="server(s) to use for bootstrapping",
        text="REQUIRED: The server to connect to.",
    )
    return options


main = script(broker_api_versions)
