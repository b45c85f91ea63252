"""`kafka-delete-records`: delete what stands before an offset in partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.cli.kafka.asking import Asker, Refused, check, text_of
from penstock.cli.kafka.options import CommandFailed, Parser
from penstock.cli.kafka.partition_files import load_json, partition_rows, repeated
from penstock.cli.kafka.properties import load_properties
from penstock.cli.kafka.starting import script


def delete_records(words: Sequence[str]) -> int:
    given = _parser().parse(words)
    given.require("bootstrap-server", "offset-json-file")
    document = load_json(given.value("offset-json-file"), "The input string is not a valid JSON")
    version = document.get("version", 1) if isinstance(document, dict) else 1
    if version != 1:
        raise CommandFailed(f"Not supported version field value {version}")
    rows = partition_rows(document, "Missing partitions field")
    twice = repeated(rows)
    if twice:
        raise CommandFailed(f"Offset json file contains duplicate topic partitions: {','.join(twice)}")
    asker = Asker(given.value("bootstrap-server"), load_properties(given.value("command-config")))
    print("Executing records delete operation")
    print("Records delete operation completed:")
    for row in rows:
        name = f"{row['topic']}-{row['partition']}"
        try:
            print(f"partition: {name}\tlow_watermark: {_delete(asker, row)}")
        except Refused as error:
            print(f"partition: {name}\terror: {error.java_class}: {error}")
    return 0


def _delete(asker: Asker, row: dict[str, Any]) -> int:
    """Asks the leader; the new start of the partition."""
    from penstock.protocol.apis import Api

    topic, index = row["topic"], row["partition"]
    known = asker.topics([topic]).get(topic)
    if known is None or index not in known.partitions:
        code = "UNKNOWN_TOPIC_OR_PARTITION"
        raise Refused(code, text_of(code))
    wanted = {"partition_index": index, "offset": row.get("offset", 0)}
    fields = {"topics": [{"name": topic, "partitions": [wanted]}], "timeout": 60_000}
    answer = asker.broker(known.partitions[index].leader, Api.DELETE_RECORDS, fields, (0, 2))
    result = answer.topics[0].partitions[0]
    check(result)
    return int(result.low_watermark)


def _parser() -> Parser:
    options = Parser(
        "This tool helps to delete records of the given partitions down to the specified offset."
    )
    options.takes(
        "bootstrap-server",
        what="server(s) to use for bootstrapping",
        text="REQUIRED: The server to connect to.",
    )
    options.takes(
        "offset-json-file",
        what="Offset json file path",
        text='REQUIRED: The JSON file with offset per partition. The format to use is: {"partitions": '
        '[{"topic": "foo", "partition": 1, "offset": 1}], "version":1}',
    )
    options.takes(
        "command-config",
        what="command config property file path",
        text="A property file containing configs to be passed to Admin Client.",
    )
    return options


main = script(delete_records)
