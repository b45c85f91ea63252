"""Tasks that mostly wait for the disk: logs are made and opened by thousands. A broker does several at once
in threads (`penstock.server.together`); the simulator has one thread, and does them one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Task = Callable[[], None]
Together = Callable[[Sequence[Task]], None]


def one_by_one(tasks: Sequence[Task]) -> None:
    for task in tasks:
        task()
