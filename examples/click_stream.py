"""Click-stream enrichment: every page view with the profile of who clicked and what they had searched for.

    user-profiles    42  {"name": "Ann", "interests": ["cycling"]}              a table: the latest row counts
    searches         42  {"terms": "gravel bike"}
    page-views       42  {"page": "/products/9"}
    user-activity    42  {"page": "/products/9", "name": "Ann", "interests": ["cycling"],
                          "searched": "gravel bike"}

A view is joined with the profile as it is at that moment, and with searches of the same user within the
second before it. A view without a profile or a search comes out as well, when that second can bring no
search any more. All topics are keyed by the user's id and have equally many partitions: that is what makes
the joins local.

    python examples/click_stream.py --bootstrap-servers 127.0.0.1:9092
"""

from __future__ import annotations

import argparse
import sys
from datetime import timedelta
from typing import Any

from penstock.streams import Application, JoinWindows, JsonSerde, StreamsBuilder, StringSerde, Topology, run

PROFILES, SEARCHES, VIEWS, ACTIVITY = "user-profiles", "searches", "page-views", "user-activity"
TOPICS = {PROFILES: {"cleanup.policy": "compact"}, SEARCHES: {}, VIEWS: {}, ACTIVITY: {}}
BEFORE_A_VIEW = JoinWindows(before=timedelta(seconds=1), after=0)


def topology() -> Topology:
    builder = StreamsBuilder(key_serde=StringSerde(), value_serde=JsonSerde())
    profiles = builder.table(PROFILES)
    searches = builder.stream(SEARCHES)
    (
        builder.stream(VIEWS)
        .left_join(profiles, with_profile)
        .left_join(searches, with_search, BEFORE_A_VIEW)
        .to(ACTIVITY)
    )
    return builder.build()


def with_profile(view: dict[str, Any], profile: dict[str, Any] | None) -> dict[str, Any]:
    known = profile or {}
    return {"page": view["page"], "name": known.get("name"), "interests": known.get("interests", [])}


def with_search(activity: dict[str, Any], search: dict[str, Any] | None) -> dict[str, Any]:
    return {**activity, "searched": None if search is None else search["terms"]}


def main() -> int:
    parser = argparse.ArgumentParser(description="Page views with profiles and searches.")
    parser.add_argument("--bootstrap-servers", default="127.0.0.1:9092")
    parser.add_argument("--state-dir", help="where local state is kept")
    parser.add_argument("--master", default="local[*]", help="Spark's: this machine, or spark://host:port")
    options = parser.parse_args()
    application = Application(
        topology(), "click-stream", options.bootstrap_servers, state_dir=options.state_dir
    )
    return run(application, topics=TOPICS, partitions=4, master=options.master)


if __name__ == "__main__":
    sys.exit(main())
