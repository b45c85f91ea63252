"""`kafka-console-consumer`: prints the records of a topic."""

from __future__ import annotations

import random
import re
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

from penstock.cli.kafka.console_consumer_options import checked, parser
from penstock.cli.kafka.formatters import Formatter, formatter
from penstock.cli.kafka.options import CommandFailed, Given, UsageError
from penstock.cli.kafka.properties import key_values, load_properties, one_of
from penstock.cli.kafka.starting import script

FOREVER: Final = float("inf")
POLL_SECONDS: Final = 1.0


def console_consumer(words: Sequence[str]) -> int:
    given = checked(parser().parse_or_help(words))
    config = one_of(given, "command-config", "consumer.config")
    pairs = one_of(given, "command-property", "consumer-property")
    if given.has("property") and given.has("formatter-property"):
        given.refuse("Options --property and --formatter-property cannot be specified together.")
    shown = one_of(given, "formatter-property", "property")
    settings = _settings(given, load_properties(given.value(config)), key_values(given.values(pairs)))
    start = _start(given)
    how = _formatter(given, shown)
    count = 0
    from penstock.client.api.exceptions import KafkaException

    try:
        for record in _records(given, settings, start):
            count += 1
            _print(record, how, skip=given.has("skip-message-on-error"))
    except KafkaException as error:
        raise CommandFailed(str(error)) from error
    except BrokenPipeError:
        print("Unable to write to standard out, closing consumer.", file=sys.stderr)
        raise
    finally:
        print(f"Processed a total of {count} messages", file=sys.stderr)
    return 0


def _print(record: Any, how: Formatter, *, skip: bool) -> None:
    from penstock.client.api.exceptions import KafkaException

    try:
        text = how.text_of(record)
    except (KafkaException, ValueError) as error:
        if not skip:
            raise CommandFailed(f"Error processing message, terminating consumer process: {error}") from error
        print(f"ERROR Error processing message, skipping this message: {error}", file=sys.stderr)
        return
    sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()


def _records(given: Given, settings: dict[str, Any], start: int | str) -> Iterator[Any]:
    """Records until --max-messages, --timeout-ms or Ctrl-C. Records that were read and not printed are
    given back: their offsets are not committed."""
    from penstock.client import Consumer, TopicPartition

    wanted = given.value("max-messages")
    timeout_ms = given.value("timeout-ms")
    patience = FOREVER if timeout_ms is None or timeout_ms < 0 else timeout_ms / 1000
    left = FOREVER if wanted is None or wanted < 0 else wanted
    with Consumer(settings) as consumer:
        if given.has("partition"):
            at = TopicPartition(given.value("topic"), given.value("partition"))
            consumer.assign([at])
            _seek(consumer, at, start)
        elif given.has("topic"):
            consumer.subscribe([given.value("topic")])
        else:
            consumer.subscribe(_pattern(given.value("include")))
        since = time.monotonic()
        while left > 0:
            for record in (found := list(consumer.poll(min(POLL_SECONDS, patience)))):
                if left <= 0:
                    consumer.seek(TopicPartition(record.topic, record.partition), record.offset)
                    break
                left -= 1
                yield record
            if found:
                since = time.monotonic()
            elif time.monotonic() - since > patience:
                print("ERROR Error processing message, terminating consumer process: ", file=sys.stderr)
                return


def _seek(consumer: Any, at: Any, start: int | str) -> None:
    if start == "earliest":
        consumer.seek_to_beginning([at])
    elif start == "latest":
        consumer.seek_to_end([at])
    else:
        consumer.seek(at, start)


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise CommandFailed(f"{text} is an invalid regex: {error}") from None


def _settings(given: Given, from_file: dict[str, str], extra: dict[str, str]) -> dict[str, Any]:
    groups = {given.value("group"), from_file.get("group.id"), extra.get("group.id")} - {None}
    if len(groups) > 1:
        named = ", ".join(f"'{group}'" for group in sorted(groups))
        given.refuse(
            "The group ids provided in different places (directly using '--group', via "
            "'--consumer-property', or via '--consumer.config') do not match. Detected group ids: "
            f"{named}"
        )
    if groups and given.has("partition"):
        given.refuse("Options group and partition cannot be specified together.")
    settings: dict[str, Any] = from_file | extra
    _set_reset(given, settings)
    settings["bootstrap.servers"] = given.value("bootstrap-server")
    settings.setdefault("client.id", "console-consumer")
    if given.has("isolation-level") or "isolation.level" not in settings:
        settings["isolation.level"] = given.value("isolation-level")
    if groups:
        settings["group.id"] = groups.pop()
    else:
        settings["group.id"] = f"console-consumer-{random.randrange(100_000)}"
        settings.setdefault("enable.auto.commit", "false")
    settings.pop("key.deserializer", None)
    settings.pop("value.deserializer", None)
    return settings


def _set_reset(given: Given, settings: dict[str, Any]) -> None:
    chosen = settings.get("auto.offset.reset")
    if chosen is None:
        settings["auto.offset.reset"] = "earliest" if given.has("from-beginning") else "latest"
    elif given.has("from-beginning") and chosen != "earliest":
        raise CommandFailed(
            f"Can't simultaneously specify --from-beginning and 'auto.offset.reset={chosen}', please remove "
            "one option"
        )


def _start(given: Given) -> int | str:
    """Where a partition is read from: an offset, `earliest` or `latest`."""
    if not given.has("offset"):
        return "earliest" if given.has("from-beginning") else "latest"
    text: str = given.value("offset")
    if text.lower() in ("earliest", "latest"):
        return text.lower()
    if not text.isdecimal():
        given.refuse(
            f"The provided offset value '{text}' is incorrect. Valid values are 'earliest', 'latest', or a "
            "non-negative long."
        )
    return int(text)


def _formatter(given: Given, shown: str) -> Formatter:
    properties = load_properties(given.value("formatter-config"))
    for option in ("key-deserializer", "value-deserializer"):
        if given.value(option):
            properties[option.replace("-", ".")] = given.value(option)
    properties |= key_values(given.values(shown))
    try:
        return formatter(given.value("formatter"), properties)
    except CommandFailed as error:
        raise UsageError(str(error), given.parser.help_text()) from None


main = script(console_consumer)
