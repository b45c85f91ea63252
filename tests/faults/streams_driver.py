"""An application of Streams as a process of its own, to be killed: every kind of join, and windows.

Run by `test_streams_killed` with servers, application id, state directory and master; says `running` when it
has started. It ends when the application fails, or when its standard input is closed.
"""

from __future__ import annotations

import logging
import sys
import threading

from penstock.streams import Application, JoinWindows, StreamsBuilder, StringSerde, TimeWindows, Topology

INPUTS = ("views", "clicks", "users", "places", "countries")
STREAMS = ("pairs", "named", "abroad")
"""Outputs of which every record counts."""
TABLES = ("windows", "homes", "cities")
"""Outputs of which the last record of each key counts."""
SETTINGS = {"max.offsets.per.trigger": "400", "session.timeout.ms": "6000", "heartbeat.interval.ms": "1000"}


def beside(one: str | None, other: str | None) -> str:
    return f"{one}|{other}"


def topology() -> Topology:
    text = StringSerde()
    builder = StreamsBuilder(key_serde=text, value_serde=text)
    views, clicks = builder.stream("views"), builder.stream("clicks")
    users, places = builder.table("users"), builder.table("places")
    countries = builder.global_table("countries")
    windows = TimeWindows(10_000, advance=5_000, grace=60_000)
    counted = views.group_by_key().windowed_by(windows).count(materialized="views-by-window")
    counted.to_stream(lambda key, _: f"{key.key}@{key.start}").map_values(str).to("windows")
    views.left_join(clicks, beside, JoinWindows(1_000, grace=60_000)).to("pairs")
    views.join(users, beside).to("named")
    views.join(countries, beside, key_selector=lambda key, value: value[:1]).to("abroad")
    users.join(places, beside).to_stream().to("homes")
    users.join(places, beside, foreign_key=lambda value: value).to_stream().to("cities")
    return builder.build()


def main(servers: str, application_id: str, state_dir: str, master: str) -> None:
    import penstock.spark

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
    application = Application(topology(), application_id, servers, SETTINGS, state_dir)
    application.start(spark)
    print("running", flush=True)
    threading.Thread(target=lambda: (sys.stdin.read(), application.close()), daemon=True).start()
    application.wait()
    if application.error is not None:
        raise application.error


if __name__ == "__main__":
    main(*sys.argv[1:])
