"""Tasks that mostly wait for the disk, one by one or several at once. The simulator has one thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

THREADS: Final = 8

Task = Callable[[], None]
Together = Callable[[Sequence[Task]], None]


def one_by_one(tasks: Sequence[Task]) -> None:
    for task in tasks:
        task()


def in_threads(tasks: Sequence[Task]) -> None:
    """All are done when this returns. What a task raises is raised here, when all are."""
    if len(tasks) < THREADS:
        one_by_one(tasks)
        return
    from concurrent.futures import ThreadPoolExecutor  # not needed to start

    with ThreadPoolExecutor(THREADS, thread_name_prefix="together") as pool:
        for future in [pool.submit(task) for task in tasks]:
            future.result()
