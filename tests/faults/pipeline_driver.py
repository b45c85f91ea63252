"""A pipeline as a process of its own, to be killed: one topic to another, exactly once, until it shall end.

Run by `test_pipeline_killed` with servers, input, output, checkpoint and master; says `running` when the
query has started. It ends when the query fails, or when its standard input is closed.
"""

from __future__ import annotations

import logging
import sys
import threading

import penstock.spark


def main(servers: str, input_topic: str, output_topic: str, checkpoint: str, master: str) -> None:
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    spark = penstock.spark.session(
        "killed",
        master=master,
        **{
            "spark.log.level": "ERROR",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "600m",
            "spark.executor.memory": "600m",
            "spark.executor.cores": "1",
            "spark.sql.shuffle.partitions": "2",
        },
    )
    source = spark.readStream.format("penstock").option("subscribe", input_topic)
    source = source.option("kafka.bootstrap.servers", servers).option("startingOffsets", "earliest")
    source = source.option("minPartitions", "5").option("maxOffsetsPerTrigger", "3000")
    query = penstock.spark.write_stream(
        source.load().select("key", "value"),
        topic=output_topic,
        bootstrap_servers=servers,
        checkpoint=checkpoint,
        trigger={"processingTime": "0 seconds"},
    )
    print("running", flush=True)
    threading.Thread(target=lambda: (sys.stdin.read(), query.stop()), daemon=True).start()
    query.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
