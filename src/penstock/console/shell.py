"""The frame around all pages: bar, state of the cluster, banner, and the sub-pages inside. One for each
browser tab.
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qsl, unquote, urlsplit

from nicegui import ui

from penstock.client.errors import ClientError
from penstock.console import theme
from penstock.console.components.account import account, asks_for_login
from penstock.console.components.controls import icon, text
from penstock.console.components.live import Live
from penstock.console.components.theme_switch import ThemeSwitch
from penstock.console.feed import Reading
from penstock.console.navigation import SECTIONS, SECURITY, section_of
from penstock.console.overview import Overview
from penstock.console.pages.table import PAGES, Page
from penstock.console.services import Services
from penstock.console.wording import counted, unreachable_advice, unreachable_title


def shell(services: Services) -> None:
    ui.add_head_html(theme.head_html())
    Frame(services)


class Pages(ui.sub_pages):
    """Sub-pages with words of our own for what is not there."""

    def _render_404(self) -> None:
        _nothing_here("Page not found", "There is no such page in the console.")

    def _render_error(self, _: Exception) -> None:
        _nothing_here("This page failed", "The console's log has the details. Reload to try again.")


class Frame:
    def __init__(self, services: Services) -> None:
        self._services = services
        with Live("header").classes("bar") as bar:
            self._build_bar()
        with ui.element("div").classes("banner").props("role=alert") as self._banner:
            icon("warning")
            with ui.element("div"):
                self._banner_title = text("p", "", "banner-title").mark("banner")
                self._banner_text = text("p", "", "banner-text")
        self._banner.set_visibility(False)
        bar.until_gone(services.overview.watch(self._receive))
        with ui.element("div").classes("content") as content:  # the page around it is the main landmark
            Pages(self._routes())
        ui.skip_link("Skip to content", target=content)

    def _routes(self) -> dict[str, Callable[..., None]]:
        return {path: self._opening(page) for path, page in PAGES.items()}

    def _opening(self, page: Page) -> Callable[..., None]:
        def opened(name: str = "") -> None:
            address = urlsplit(ui.context.client.sub_pages_router.current_path)
            page(self._services, unquote(name), dict(parse_qsl(address.query)))

        return opened

    def _build_bar(self) -> None:
        with ui.element("a").classes("brand").props("href=/"):
            ui.element("img").classes("brand-mark").props('src=/assets/favicon.svg alt=""')
            text("span", self._services.title, "brand-name")
        with ui.element("nav").classes("nav").props("aria-label=Main"):
            sections = (*SECTIONS, SECURITY) if asks_for_login() else SECTIONS
            self._links = {name: text("a", name).props(f"href={path}") for name, path in sections}
        router = ui.context.client.sub_pages_router
        router.on_path_changed(self._mark)
        self._mark(router.current_path)
        with ui.element("div").classes("bar-end"):
            with ui.element("div").classes("status").props("role=status") as self._status:
                ui.element("span").classes("dot").props("aria-hidden=true")
                self._status_text = text("span", "Connecting").mark("status")
                text("span", self._services.backend.bootstrap_servers, "status-address")
            ThemeSwitch()
            account()

    def _mark(self, path: str) -> None:
        here = section_of(path)
        for name, link in self._links.items():
            if name == here:
                link.props("aria-current=page")
            else:
                link.props(remove="aria-current")

    def _receive(self, reading: Reading[Overview]) -> None:
        if reading.error is not None:
            self._show_down(reading.error)
        elif reading.value is not None:
            brokers = len(reading.value.snapshot.cluster.brokers)
            self._status.classes(add="up", remove="down")
            self._status_text.set_text(counted(brokers, "broker"))
            self._banner.set_visibility(False)

    def _show_down(self, error: ClientError) -> None:
        self._status.classes(add="down", remove="up")
        self._status_text.set_text("Unreachable")
        self._banner_title.set_text(unreachable_title(self._services.backend.bootstrap_servers))
        self._banner_text.set_text(unreachable_advice(error))
        self._banner.set_visibility(True)


def _nothing_here(title: str, sentence: str) -> None:
    with ui.element("div").classes("card"), ui.element("div").classes("empty"):
        icon("inbox")
        text("h1", title, "empty-title")
        text("p", sentence, "empty-text")
        text("a", "Go to the overview").props("href=/")
