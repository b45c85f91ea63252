"""What a child process runs first: it ties itself to the supervisor, then becomes the service.

`python -m penstock.platform.child PARENT COMMAND…`. A supervisor that is killed outright cannot stop its
children; the kernel then sends them SIGTERM, so that no broker is left behind with its port and its files.
That is Linux; elsewhere a child is not tied.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Final

_PR_SET_PDEATHSIG: Final = 1


def become(command: list[str], parent: int) -> None:
    """Ties this process to its parent and becomes the command. Returns only if the parent is gone."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() == parent:  # it may have died before the kernel was told
        os.execv(command[0], command)


if __name__ == "__main__":
    become(sys.argv[2:], int(sys.argv[1]))
