"""Tells people of alerts: by webhook, in Slack's format, or by e-mail. A failure is logged and tried no more:
the page shows every alert in any case.
"""

from __future__ import annotations

import logging
import smtplib
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Any

import httpx

from penstock.console.alert_engine import Event
from penstock.console.alert_rules import Channel
from penstock.web.threads import Threads

log = logging.getLogger(__name__)

TIMEOUT_S = 10.0
AT_A_TIME = 4


@dataclass(frozen=True, slots=True)
class Mail:
    """The server that takes e-mail; empty when there is none."""

    host: str = ""
    port: int = 25
    sender: str = "penstock@localhost"


class Notifier:
    def __init__(self, mail: Mail, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._mail = mail
        self._transport = transport
        self._threads = Threads(AT_A_TIME, "console-mail")

    async def tell(self, channel: Channel, event: Event) -> str:
        """What went wrong; empty when nothing did."""
        try:
            if channel.kind == "email":
                await self._threads.call(self._send_mail, channel.to, event)
            else:
                await self._post(channel.to, slack(event) if channel.kind == "slack" else payload(event))
        except (httpx.HTTPError, OSError, smtplib.SMTPException, ValueError) as error:
            log.warning("an alert could not be sent by %s: %s", channel.kind, error)
            return f"{channel.kind} failed: {error}"
        return ""

    async def _post(self, url: str, body: dict[str, Any]) -> None:
        async with httpx.AsyncClient(timeout=TIMEOUT_S, transport=self._transport) as client:
            (await client.post(url, json=body)).raise_for_status()

    def _send_mail(self, to: str, event: Event) -> None:
        if not self._mail.host:
            raise ValueError("the console was started without --smtp-server HOST:PORT")
        with smtplib.SMTP(self._mail.host, self._mail.port, timeout=TIMEOUT_S) as server:
            server.send_message(mail(event, self._mail.sender, to))


def state_of(event: Event) -> str:
    return "fired" if event.cleared_at is None else "cleared"


def payload(event: Event) -> dict[str, Any]:
    return {
        "rule": event.rule,
        "subject": event.subject,
        "state": state_of(event),
        "message": event.sentence,
        "fired_at": event.fired_at,
        "cleared_at": event.cleared_at,
    }


def slack(event: Event) -> dict[str, str]:
    mark = ":rotating_light:" if event.cleared_at is None else ":white_check_mark:"
    return {"text": f"{mark} *{event.rule}* {state_of(event)}: {event.sentence}"}


def mail(event: Event, sender: str, to: str) -> EmailMessage:
    made = EmailMessage()
    made["Subject"] = f"[Penstock] {event.rule} {state_of(event)}: {event.subject}"
    made["From"], made["To"] = sender, to
    made.set_content(f"{event.sentence}\n\nRule: {event.rule}\nState: {state_of(event)}\n")
    return made
