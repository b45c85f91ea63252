"""Brings the quotas that are enforced in line with the metadata."""

from __future__ import annotations

from penstock.controller.image import Image
from penstock.quotas.clients import ClientQuotas


class QuotaFollower:
    """Called by the controller after each committed step."""

    def __init__(self, quotas: ClientQuotas) -> None:
        self._quotas = quotas

    def follow(self, old: Image, new: Image) -> None:
        if new.quotas is not old.quotas:
            self._quotas.update(new.quotas)
