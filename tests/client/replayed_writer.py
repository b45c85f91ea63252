"""A process that adds numbered items to a replayed topic, to be killed.

`python -m tests.client.replayed_writer BOOTSTRAP_SERVERS TOPIC NAME COUNT` prints its numbers.
"""

from __future__ import annotations

import sys

from penstock.client.errors import ClientError
from penstock.client.latest_by_key import BytesCodec, LatestByKey
from penstock.client.replayed_settings import ReplayedTopicSettings
from penstock.client.replayed_topic import Decision, ReplayedTopic

State = LatestByKey[bytes, bytes]
Topic = ReplayedTopic[tuple[bytes, bytes | None], State]
LAST = b"last"


def replayed(bootstrap_servers: str, topic: str) -> Topic:
    made: Topic = ReplayedTopic(ReplayedTopicSettings(bootstrap_servers, topic), BytesCodec(), State())
    made.start()
    return made


def take_number(topic: Topic, name: str) -> int:
    """The next number, which no other process may be given. It takes two records: the item and the count."""

    def decide(state: State) -> Decision[tuple[bytes, bytes | None], int]:
        number = int(state.values.get(LAST, b"0")) + 1
        written = str(number).encode()
        return Decision([(b"item-" + written, name.encode()), (LAST, written)], number)

    return topic.change(decide)


def main(bootstrap_servers: str, name_of_topic: str, name: str, count: str) -> None:
    topic = replayed(bootstrap_servers, name_of_topic)
    print("ready", flush=True)
    done = 0
    while done < int(count):
        try:
            print(take_number(topic, name), flush=True)
            done += 1
        except ClientError as error:  # the broker is away: the number may be taken or not
            print(error, file=sys.stderr, flush=True)
    topic.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
