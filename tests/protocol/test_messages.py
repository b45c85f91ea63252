"""The long tail of messages, loaded when it is first used."""

from __future__ import annotations

import subprocess
import sys

FIRST_USE = """
import sys, threading
sys.setswitchinterval(1e-6)
from penstock.protocol.apis import Api
from penstock.protocol.messages import read_request, read_response
from penstock.protocol.primitives import MalformedMessage, Reader

wanted = [(Api.BROKER_REGISTRATION, 4), (Api.BROKER_HEARTBEAT, 1), (Api.ALTER_PARTITION, 3), (Api.VOTE, 1),
          (Api.FETCH_SNAPSHOT, 1), (Api.BEGIN_QUORUM_EPOCH, 1), (Api.CREATE_TOPICS, 7), (Api.ENVELOPE, 0)]
uses = [lambda api, version: read_request(api, version, Reader(memoryview(b""))),
        lambda api, version: read_response(api, version, b"")]
together, others = threading.Barrier(2 * len(wanted)), []

def use(read, api, version):
    together.wait()
    try:
        read(api, version)
    except MalformedMessage:
        pass
    except Exception as error:
        others.append(error)

threads = [threading.Thread(target=use, args=(read, *each)) for each in wanted for read in uses]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.exit(f"{others}" if others else 0)
"""


def test_threads_may_use_messages_for_the_first_time_together() -> None:
    """In a process of its own, in which nothing is loaded yet. Without a lock nearly every run failed."""
    command = [sys.executable, "-c", FIRST_USE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
