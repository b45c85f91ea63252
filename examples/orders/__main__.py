"""All services of the shop together, and a few orders.

    penstock example orders
    python examples/orders [SERVERS]

Stop it with Ctrl-C. The console shows the topics and the groups at work.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from place_orders import EXAMPLES, outcome, place
from shop import create_topics, servers_given

HERE = Path(__file__).parent
SERVICES = ("fraud", "inventory", "details", "aggregator", "mailer")


def main(servers: str, index: str, *, stays: bool) -> None:
    create_topics(servers)
    commands = [[str(HERE / f"{name}.py"), servers] for name in SERVICES]
    commands.append([str(HERE / "search.py"), servers, index])
    running = [subprocess.Popen([sys.executable, *command]) for command in commands]
    try:
        place(servers, EXAMPLES)
        for order_id, state in sorted(outcome(servers, [order.id for order in EXAMPLES]).items()):
            print(order_id, state, flush=True)
        if stays:
            for process in running:
                process.wait()
    except KeyboardInterrupt:
        print("stopping")
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait()


if __name__ == "__main__":
    main(servers_given(), sys.argv[2] if len(sys.argv) > 2 else "orders-index.db", stays=len(sys.argv) <= 3)
