"""Answers as text for people: tables, and lists of names with values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

WIDEST: Final = 60
"""Characters of a cell that are shown; the end of a longer one is cut."""


def table(titles: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    texts = [[_text(cell) for cell in row] for row in rows]
    widths = [max(len(title), *(len(row[at]) for row in texts), 1) for at, title in enumerate(titles)]
    line = "-" * (sum(widths) + 3 * len(widths))
    head, *shown = [
        " " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in [titles, *texts]
    ]
    return "\n".join([head, line, *shown, line])


def _text(cell: Any) -> str:
    if cell is None:
        return "null"
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return cell if isinstance(cell, str) else json.dumps(cell, ensure_ascii=False)


class LiveTable:
    """Rows that are printed as they come: columns of equal width, the head first."""

    def __init__(self, names: Sequence[str], width: int) -> None:
        self._names = names
        self._cell = max(8, (width - 1) // max(1, len(names)) - 3)

    def head(self) -> str:
        line = self._line()
        return f"{line}\n{self._row(self._names)}\n{line}"

    def row(self, values: Sequence[Any]) -> str:
        return self._row([_text(value) for value in values])

    def _line(self) -> str:
        return "+" + "+".join("-" * (self._cell + 2) for _ in self._names) + "+"

    def _row(self, cells: Sequence[str]) -> str:
        """Cells that are too long go on in the next line."""
        parts = [
            [cell[at : at + self._cell] for at in range(0, len(cell), self._cell)] or [""] for cell in cells
        ]
        lines = []
        for number in range(max(map(len, parts), default=0)):
            found = [part[number] if number < len(part) else "" for part in parts]
            lines.append("|" + "|".join(f" {each.ljust(self._cell)} " for each in found) + "|")
        return "\n".join(lines)


def wide_row(names: Sequence[str], values: Sequence[Any], number: int) -> str:
    """One line a column."""
    longest = max(map(len, names), default=0)
    lines = [f"{name.rjust(longest)}: {_text(value)}" for name, value in zip(names, values, strict=True)]
    return "\n".join([f"*** row {number} ***", *lines])


def describe(answer: dict[str, Any]) -> str:
    """An entity of the server as text."""
    writer = _WRITERS.get(answer.get("@type", ""))
    shown = json.dumps(answer, indent=2, ensure_ascii=False) if writer is None else "\n".join(writer(answer))
    warnings = "".join(f"\nWARNING: {each.get('message', each)}" for each in answer.get("warnings") or ())
    return shown + warnings


def _status(answer: dict[str, Any]) -> Iterator[str]:
    yield table(["Message"], [[answer["commandStatus"]["message"]]])


def _sources(answer: dict[str, Any]) -> Iterator[str]:
    kind = answer["@type"]
    rows = [
        (each["name"], each["topic"], each.get("keyFormat"), each.get("valueFormat"), each.get("isWindowed"))
        for each in answer[kind]
    ]
    name = f"{kind[:-1].capitalize()} Name"
    yield table([name, "Kafka Topic", "Key Format", "Value Format", "Windowed"], rows)


def _queries(answer: dict[str, Any]) -> Iterator[str]:
    rows = []
    for each in answer["queries"]:
        sinks, topics = ",".join(each["sinks"]), ",".join(each["sinkKafkaTopics"])
        text = each["queryString"]
        shown = text if len(text) <= WIDEST else f"{text[:WIDEST]}…"
        counted = [each["skippedRecords"]] if "skippedRecords" in each else []  # by our servers alone
        rows.append((each["id"], each["queryType"], each["state"], sinks, topics, *counted, shown))
    titles = ["Query ID", "Query Type", "Status", "Sink Name", "Sink Kafka Topic", "Query String"]
    if any(len(row) > len(titles) for row in rows):
        titles.insert(-1, "Skipped")
    yield table(titles, rows)
    if rows:
        yield "For detailed information on a Query run: EXPLAIN <Query ID>;"


def _topics(answer: dict[str, Any]) -> Iterator[str]:
    rows = [
        (each["name"], len(each["replicaInfo"]), each["replicaInfo"][0] if each["replicaInfo"] else 0)
        for each in answer["topics"]
    ]
    yield table(["Kafka Topic", "Partitions", "Partition Replicas"], rows)


def _properties(answer: dict[str, Any]) -> Iterator[str]:
    changed = set(answer.get("overwrittenProperties") or ())
    rows = [
        (each["name"], each["scope"], "SESSION" if each["name"] in changed else "SERVER", each["value"])
        for each in answer["properties"]
    ]
    yield table(["Property", "Scope", "Level", "Value"], rows)


def _functions(answer: dict[str, Any]) -> Iterator[str]:
    yield table(["Function Name", "Type"], [(each["name"], each["type"]) for each in answer["functions"]])


def _function(answer: dict[str, Any]) -> Iterator[str]:
    yield f"Name        : {answer['name']}"
    yield f"Type        : {answer['type']}"
    yield f"Overview    : {answer['description']}"
    for each in answer["functions"]:
        arguments = ", ".join(
            f"{one['type']}{'...' if one['isVariadic'] else ''}" for one in each["arguments"]
        )
        yield f"Variation   : {answer['name']}({arguments}) -> {each['returnType']}"


def _source(answer: dict[str, Any]) -> Iterator[str]:
    yield from _described(answer["sourceDescription"])


def _described(found: dict[str, Any]) -> Iterator[str]:
    yield f"Name                 : {found['name']}"
    if found["extended"]:
        yield f"Type                 : {found['type']}"
        yield f"Key format           : {found['keyFormat']}"
        yield f"Value format         : {found['valueFormat']}"
        yield f"Kafka topic          : {found['topic']} (partitions: {found['partitions']}, "
        yield f"                       replication: {found['replication']})"
        yield f"Statement            : {found['statement']}"
    rows = [(each["name"], _type(each)) for each in found["fields"]]
    yield table(["Field", "Type"], rows)
    for title, key in (("read from", "readQueries"), ("write to", "writeQueries")):
        for query in found[key]:
            yield f"Queries that {title} this {found['type']}: {query['id']} ({query['state']})"


def _type(field: dict[str, Any]) -> str:
    word = {"KEY": " (key)", "HEADER": " (headers)"}.get(field.get("type") or "", "")
    return f"{_schema(field['schema'])}{word}"


def _schema(found: dict[str, Any]) -> str:
    match found["type"]:
        case "ARRAY":
            return f"ARRAY<{_schema(found['memberSchema'])}>"
        case "MAP":
            return f"MAP<STRING, {_schema(found['memberSchema'])}>"
        case "STRUCT":
            fields = ", ".join(f"{each['name']} {_schema(each['schema'])}" for each in found["fields"])
            return f"STRUCT<{fields}>"
        case "DECIMAL" if found.get("parameters"):
            return f"DECIMAL({found['parameters']['precision']}, {found['parameters']['scale']})"
        case "STRING":
            return "VARCHAR(STRING)"
        case other:
            return str(other)


def _query(answer: dict[str, Any]) -> Iterator[str]:
    found = answer["queryDescription"]
    yield f"ID                   : {found['id']}"
    yield f"Query Type           : {found['queryType']}"
    yield f"Status               : {found['state']}"
    yield f"SQL                  : {found['statementText']}"
    yield table(["Field", "Type"], [(each["name"], _type(each)) for each in found["fields"]])
    yield f"Sources: {', '.join(found['sources'])}"
    yield f"Sinks  : {', '.join(found['sinks'])}"
    yield "Execution plan\n--------------"
    yield found.get("picture") or found["executionPlan"]
    yield "Processing topology\n-------------------"
    yield found["topology"]
    for each in found["queryErrors"]:
        yield f"Error: {each['errorMessage']}"


def _types(answer: dict[str, Any]) -> Iterator[str]:
    yield table(["Type Name", "Schema"], [(name, _schema(kind)) for name, kind in answer["types"].items()])


def _variables(answer: dict[str, Any]) -> Iterator[str]:
    yield table(["Variable Name", "Value"], [(e["name"], e["value"]) for e in answer["variables"]])


def _several(answer: dict[str, Any]) -> Iterator[str]:
    for each in answer["sourceDescriptions"]:
        yield from _described(each)
        yield ""


_WRITERS: Final = {
    "currentStatus": _status,
    "streams": _sources,
    "tables": _sources,
    "queries": _queries,
    "kafka_topics": _topics,
    "kafka_topics_extended": _topics,
    "properties": _properties,
    "function_names": _functions,
    "describe_function": _function,
    "sourceDescription": _source,
    "source_descriptions": _several,
    "queryDescription": _query,
    "type_list": _types,
    "variables": _variables,
}
