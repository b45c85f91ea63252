"""The transactions page: transactional ids with what they have open, and transactions that hang."""

from __future__ import annotations

import time
from collections.abc import Callable

from nicegui import background_tasks, ui

from penstock.client.errors import ClientError
from penstock.console.cluster_values import HangingTransaction, TransactionState
from penstock.console.components.controls import button, notify, text
from penstock.console.components.grid import Action, Column, Grid, Row
from penstock.console.components.layout import Notice, page_head, panel, tabs
from penstock.console.components.live import Live
from penstock.console.dialogs.frame import DialogFrame
from penstock.console.pages.groups import GROUP_TABS
from penstock.console.services import Services
from penstock.console.wording import ago, counted

HANGS_AFTER_MS = 15 * 60 * 1000
"""Longer than any transaction may last by a broker's default."""
COLUMNS = (
    Column("id_", "Transactional id"),
    Column("state", "State", "tag", "150px"),
    Column("producer", "Producer", "text", "150px"),
    Column("open", "Open for", "seconds", "110px"),
    Column("timeout", "Timeout", "ms", "110px", "wide-only"),
    Column("partitions", "Partitions", "text", "240px", "wide-only"),
)
HANGING = (
    Column("where", "Partition"),
    Column("producer", "Producer", "text", "150px"),
    Column("start", "From offset", "number", "120px"),
    Column("last", "Last written", "text", "140px"),
)
NONE = {"title": "No transactions", "text": "A transactional id appears once a producer begins with it."}
ALL_END = {"title": "None hangs", "text": "Every open transaction has a coordinator that will end it."}
ABORT = Action("abort", "Abort", "stop", danger=True)
OPEN = ("Ongoing", "PrepareAbort", "PrepareCommit", "PrepareEpochFence")
TONES = {"Ongoing": "warn", "CompleteCommit": "good", "PrepareAbort": "warn", "PrepareCommit": "warn"}


def transactions_page(services: Services) -> None:
    ui.page_title(f"Transactions · {services.title}")
    TransactionsPage(services)


class TransactionsPage:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._hanging: dict[str, HangingTransaction] = {}
        with Live("section").classes("page") as self._page:
            with page_head("Transactions") as self._note:
                button("Look again", self._look, symbol="refresh").mark("look-again")
            tabs("Groups", GROUP_TABS, "Transactions")
            self._notice = Notice("transactions-notice")
            self._table = Grid("Transactions", COLUMNS, NONE)
            with panel("Hanging", "Open for a quarter of an hour, and no coordinator will end them."):
                self._stuck = Grid("Hanging transactions", HANGING, ALL_END, actions=(ABORT,))
            self._stuck.on("act", lambda event: self._ask(event.args["id"]))
            self._abort = AbortDialog(services, self._look)
        self._look()

    def _look(self) -> None:
        background_tasks.create(self._read(), name="transactions", context=self._page)

    async def _read(self) -> None:
        try:
            found = await self._services.backend.transactions()
            hanging = await self._services.backend.hanging_transactions(HANGS_AFTER_MS)
        except ClientError as error:
            self._notice.show(str(error))
            return
        self._notice.show("")
        now = time.time()
        self._note.set_text(counted(len(found), "transactional id"))
        self._table.show([_row(each, now) for each in found])
        self._hanging = {_name(each): each for each in hanging}
        self._stuck.show([_hanging_row(name, each, now) for name, each in self._hanging.items()])

    def _ask(self, name: str) -> None:
        if name in self._hanging:
            self._abort.ask(self._hanging[name])


class AbortDialog(DialogFrame):
    def __init__(self, services: Services, done: Callable[[], None]) -> None:
        super().__init__("abort", "Abort this transaction?", "Abort", kind="danger")
        self._services, self._done = services, done
        self._transaction: HangingTransaction | None = None
        with self.body:
            self._text = text("p", "", "dialog-text")

    def ask(self, transaction: HangingTransaction) -> None:
        self._transaction = transaction
        self._text.set_text(
            f"An abort marker is written to partition {transaction.partition} of {transaction.topic}. Its "
            f"records from offset {transaction.start_offset:,} on are never given to readers of committed "
            "records; readers that wait behind them go on."
        )
        self.open()

    async def act(self) -> None:
        assert self._transaction is not None
        await self._services.backend.abort_transaction(self._transaction)
        notify("Aborted")
        self._done()


def _name(each: HangingTransaction) -> str:
    return f"{each.topic}-{each.partition} by {each.producer_id}"


def _row(each: TransactionState, now: float) -> Row:
    return {
        "id": each.transactional_id,
        "id_": each.transactional_id,
        "state": {"text": each.state, "tone": TONES.get(each.state, "plain")},
        "producer": f"{each.producer_id}, epoch {each.producer_epoch}",
        "open": max(0.0, now - each.started_ms / 1000) if each.started_ms and each.state in OPEN else None,
        "timeout": each.timeout_ms,
        "partitions": ", ".join(f"{topic}-{index}" for topic, index in each.partitions[:20]),
    }


def _hanging_row(name: str, each: HangingTransaction, now: float) -> Row:
    return {
        "id": name,
        "where": f"{each.topic}-{each.partition}",
        "producer": f"{each.producer_id}, epoch {each.producer_epoch}",
        "start": each.start_offset,
        "last": ago(each.last_timestamp_ms / 1000, now),
    }
