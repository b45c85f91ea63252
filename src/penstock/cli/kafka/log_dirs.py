"""`kafka-log-dirs`: how much of each log directory of each broker the partitions take."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from penstock.cli.kafka.asking import Asker, check, refusal
from penstock.cli.kafka.options import CommandFailed, Given, Parser
from penstock.cli.kafka.properties import load_properties
from penstock.cli.kafka.starting import script


def log_dirs(words: Sequence[str]) -> int:
    given = _parser().parse(words)
    given.require("bootstrap-server", "describe")
    topics = {name for name in given.value("topic-list").split(",") if name}
    asked = _broker_ids(given)
    asker = Asker(given.value("bootstrap-server"), load_properties(given.value("command-config")))
    known = asker.brokers()
    missing = [broker for broker in asked if broker not in known]
    if missing:
        raise CommandFailed(
            f"ERROR: The given brokers do not exist from --broker-list: {_commas(missing)}. Current existent "
            f"brokers: {_commas(known)}"
        )
    brokers = asked or known
    print("Querying brokers for log directories information")
    found = [{"broker": broker, "logDirs": _directories(asker, broker, topics)} for broker in brokers]
    print(f"Received log directory information from brokers {_commas(brokers)}")
    print(json.dumps({"brokers": found, "version": 1}, separators=(",", ":")))
    return 0


def _directories(asker: Asker, broker: int, topics: set[str]) -> list[dict[str, Any]]:
    from penstock.protocol.apis import Api

    answer = asker.broker(broker, Api.DESCRIBE_LOG_DIRS, {"topics": None}, (1, 4))
    if getattr(answer, "error_code", 0):
        check(answer)
    return [_directory(result, topics) for result in answer.results]


def _directory(result: Any, topics: set[str]) -> dict[str, Any]:
    error = refusal(result)
    partitions = [
        {
            "partition": f"{topic.name}-{one.partition_index}",
            "size": one.partition_size,
            "offsetLag": one.offset_lag,
            "isFuture": one.is_future_key,
        }
        for topic in result.topics
        if not topics or topic.name in topics
        for one in topic.partitions
    ]
    shown = None if error is None else error.java_class
    return {"partitions": partitions, "error": shown, "logDir": result.log_dir}


def _broker_ids(given: Given) -> list[int]:
    words = [word for word in given.value("broker-list").split(",") if word]
    bad = next((word for word in words if not word.isdecimal()), None)
    if bad is not None:
        raise CommandFailed(f'For input string: "{bad}"')
    return sorted({int(word) for word in words})


def _commas(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


def _parser() -> Parser:
    options = Parser("This tool helps to query log directory usage on the specified brokers.")
    options.takes(
        "bootstrap-server",
        what="The server(s) to use for bootstrapping",
        text="REQUIRED: the server(s) to use for bootstrapping",
    )
    options.takes(
        "command-config",
        what="Admin client property file",
        text="Property file containing configs to be passed to Admin Client.",
    )
    options.flag("describe", text="Describe the specified log directories on the specified brokers.")
    options.takes(
        "topic-list",
        what="Topic list",
        default="",
        text='The list of topics to be queried in the form "topic1,topic2,topic3". All topics will be '
        "queried if no topic list is specified",
    )
    options.takes(
        "broker-list",
        what="Broker list",
        default="",
        text='The list of brokers to be queried in the form "0,1,2". All brokers in the cluster will be '
        "queried if no broker list is specified",
    )
    return options


main = script(log_dirs)
