"""Tasks that mostly wait for the disk, several at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.storage.together import Task, one_by_one

THREADS: Final = 8


def in_threads(tasks: Sequence[Task]) -> None:
    """All are done when this returns. What a task raises is raised here, when all are."""
    if len(tasks) < THREADS:
        one_by_one(tasks)
        return
    from concurrent.futures import ThreadPoolExecutor  # not needed to start

    with ThreadPoolExecutor(THREADS, thread_name_prefix="together") as pool:
        for future in [pool.submit(task) for task in tasks]:
            future.result()
