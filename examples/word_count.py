"""Word count, as in Kafka's own tutorial: lines of text in, a table of words and their counts out.

    streams-plaintext-input     "all streams lead to kafka"
    streams-wordcount-output    "all" → 1, "streams" → 1, … (counts are longs, eight bytes, big-endian)

The output is a table: a compacted topic that gets each new count of a word. Topics that are missing are
created, with three partitions: lines are counted side by side, and all counts of a word are in one partition.

    python examples/word_count.py --bootstrap-servers 127.0.0.1:9092
"""

from __future__ import annotations

import argparse
import re
import sys

from penstock.streams import Application, LongSerde, StreamsBuilder, StringSerde, Topology, run

INPUT, OUTPUT = "streams-plaintext-input", "streams-wordcount-output"
TOPICS = {INPUT: {}, OUTPUT: {"cleanup.policy": "compact"}}


def topology() -> Topology:
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=StringSerde())
    (
        builder.stream(INPUT)
        .flat_map_values(words)
        .group_by(lambda _, word: word)
        .count(materialized="counts-store")
        .to_stream()
        .to(OUTPUT, value_serde=LongSerde())
    )
    return builder.build()


def words(line: str) -> list[str]:
    return re.findall(r"\w+", line.lower())


def main() -> int:
    parser = argparse.ArgumentParser(description="Counts words.")
    parser.add_argument("--bootstrap-servers", default="127.0.0.1:9092")
    parser.add_argument("--partitions", type=int, default=3, help="of topics that are missing")
    parser.add_argument("--state-dir", help="where local state is kept")
    parser.add_argument("--master", default="local[*]", help="Spark's: this machine, or spark://host:port")
    options = parser.parse_args()
    application = Application(
        topology(), "streams-wordcount", options.bootstrap_servers, state_dir=options.state_dir
    )
    return run(application, topics=TOPICS, partitions=options.partitions, master=options.master)


if __name__ == "__main__":
    sys.exit(main())
