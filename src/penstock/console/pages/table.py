"""Every page by its address. A page is a function of the services, the `{name}` in its address, and the
address's parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from penstock.console.pages.alerts import alerts_page
from penstock.console.pages.brokers import broker_page, brokers_page
from penstock.console.pages.connector import connector_page
from penstock.console.pages.connectors import connectors_page
from penstock.console.pages.follow import follow_page
from penstock.console.pages.group import group_page
from penstock.console.pages.groups import groups_page
from penstock.console.pages.messages import messages_page
from penstock.console.pages.overview import overview_page
from penstock.console.pages.pipeline import pipeline_page
from penstock.console.pages.pipelines import pipelines_page
from penstock.console.pages.schema import schema_page
from penstock.console.pages.schemas import schemas_page
from penstock.console.pages.security import security_page
from penstock.console.pages.sql import sql_page
from penstock.console.pages.topic_partitions import partitions_page
from penstock.console.pages.topic_readers import readers_page
from penstock.console.pages.topic_settings import settings_page
from penstock.console.pages.topics import topics_page
from penstock.console.pages.transactions import transactions_page
from penstock.console.services import Services

Page = Callable[[Services, str, Mapping[str, str]], None]


def _plain(page: Callable[[Services], None]) -> Page:
    return lambda services, _name, _asked: page(services)


def _named(page: Callable[[Services, str], None]) -> Page:
    return lambda services, name, _asked: page(services, name)


PAGES: Final[Mapping[str, Page]] = {
    "/": _plain(overview_page),
    "/topics": _plain(topics_page),
    "/topics/{name}": messages_page,
    "/topics/{name}/partitions": _named(partitions_page),
    "/topics/{name}/settings": _named(settings_page),
    "/topics/{name}/readers": _named(readers_page),
    "/follow/{name}": follow_page,
    "/groups": _plain(groups_page),
    "/groups/{name}": _named(group_page),
    "/transactions": _plain(transactions_page),
    "/schemas": _plain(schemas_page),
    "/schemas/{name}": _named(schema_page),
    "/connectors": _plain(connectors_page),
    "/connectors/{name}": _named(connector_page),
    "/sql": sql_page,
    "/pipelines": _plain(pipelines_page),
    "/pipelines/{name}": _named(pipeline_page),
    "/alerts": _plain(alerts_page),
    "/brokers": _plain(brokers_page),
    "/brokers/{name}": _named(broker_page),
    "/security": _plain(security_page),
}
