"""The person who is logged in, with the role, and the button that ends the session."""

from __future__ import annotations

from nicegui import ui

from penstock.console.components.controls import text
from penstock.console.gate import caller_of, seat_of


def asks_for_login() -> bool:
    """Whether the page is made for somebody who logged in."""
    request = ui.context.client.request
    return request is not None and seat_of(request.scope) is not None


def account() -> None:
    """Nothing where the console asks nobody."""
    request = ui.context.client.request
    caller, seat = (caller_of(request.scope), seat_of(request.scope)) if request is not None else (None, None)
    if caller is None or seat is None:
        return
    with ui.element("form").classes("account").props("method=post action=/logout"):
        text("span", f"{caller.principal.name} ({seat.role.word})", "account-name").mark("account")
        with ui.element("button").classes("button").props("type=submit"):
            text("span", "Log out")
