"""JSON files that name partitions, as several of Kafka's commands take them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from penstock.cli.kafka.options import CommandFailed


def load_json(path: str, complaint: str) -> Any:
    """The document; `complaint` when the file does not hold one."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError:
        raise CommandFailed(path) from None
    try:
        return json.loads(text)
    except ValueError:
        raise CommandFailed(complaint) from None


def partition_rows(document: Any, missing: str) -> list[dict[str, Any]]:
    """The objects under `partitions`, each with a topic and a partition; `missing` when there are none."""
    rows = document.get("partitions") if isinstance(document, dict) else None
    if not isinstance(rows, list):
        raise CommandFailed(missing)
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("topic"), str):
            raise CommandFailed(f"No topic in {row}")
        if not isinstance(row.get("partition"), int):
            raise CommandFailed(f"No partition in {row}")
    return rows


def repeated(rows: list[dict[str, Any]]) -> list[str]:
    """Partitions that are named more than once."""
    names = [f"{row['topic']}-{row['partition']}" for row in rows]
    return sorted({name for name in names if names.count(name) > 1})
