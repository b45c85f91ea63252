"""What every page and every API call shares: the backend, one feed for each thing that is watched, the tails,
the other services. Made by `app`.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.console.alert_store import MemoryStore, Store
from penstock.console.alerts import Alerts
from penstock.console.backend import Backend
from penstock.console.batch_stats import Batches, batches_feed
from penstock.console.broker_stats import Traffic, traffic_feed
from penstock.console.cluster_values import Disks, Quorum
from penstock.console.connector_catalogue import Connector, ConnectorCatalogue
from penstock.console.feed import Feed
from penstock.console.group_stats import AllGroups, groups_feed
from penstock.console.history import History
from penstock.console.mirrors import MirrorFlow, Mirrors
from penstock.console.notifying import Mail, Notifier
from penstock.console.overview import POLL_S, Overview, overview_feed
from penstock.console.remotes import Addresses, Remotes
from penstock.console.schema_catalogue import SchemaCatalogue, SchemaVersion
from penstock.console.sql_client import SqlClient, SqlState
from penstock.console.tails import TICK_S, Tails


@dataclass(frozen=True, slots=True)
class Services:
    backend: Backend
    remotes: Remotes
    overview: Feed[Overview]
    groups: Feed[AllGroups]
    disks: Feed[Disks]
    quorum: Feed[Quorum]
    traffic: Feed[Traffic]
    schemas: SchemaCatalogue
    subjects: Feed[list[SchemaVersion]]
    connectors: ConnectorCatalogue
    connector_states: Feed[list[Connector]]
    sql: SqlClient
    sql_state: Feed[SqlState]
    batches: Feed[Batches]
    mirrors: Feed[list[MirrorFlow]]
    alerts: Alerts
    tails: Tails
    history: History
    title: str

    @classmethod
    def over(
        cls,
        backend: Backend,
        title: str = "Penstock",
        *,
        remotes: Remotes | None = None,
        store: Store | None = None,
        mail: Mail | None = None,
        poll_s: float = POLL_S,
        tick_s: float = TICK_S,
    ) -> Services:
        """Topics are looked at every `poll_s`; groups a third as often, disks and the quorum a tenth. Rules
        of alerts are kept in `store`.
        """
        remotes = remotes or Remotes.at(Addresses())
        schemas, sql = SchemaCatalogue(remotes.registry), SqlClient(remotes.sql)
        connectors = ConnectorCatalogue(remotes.connect)
        return cls(
            backend,
            remotes,
            overview_feed(backend, poll_s),
            groups_feed(backend, 3 * poll_s),
            Feed(backend.disks, 10 * poll_s),
            Feed(backend.quorum, 10 * poll_s),
            traffic_feed(remotes.metrics, 3 * poll_s, remotes.transport),
            schemas,
            Feed(schemas.latest, 5 * poll_s),
            connectors,
            Feed(connectors.connectors, 3 * poll_s),
            sql,
            Feed(sql.state, 5 * poll_s),
            batches_feed(remotes, 3 * poll_s),
            Feed(Mirrors(remotes.mirrors).flows, 3 * poll_s),
            Alerts(store or MemoryStore(), Notifier(mail or Mail(), remotes.transport)),
            Tails(backend, tick_s=tick_s),
            History(),
            title,
        )

    async def close(self) -> None:
        await self.tails.close()
        for feed in (self.overview, self.groups, self.disks, self.quorum, self.traffic):
            await feed.close()
        for service in (self.subjects, self.connector_states, self.sql_state, self.batches, self.mirrors):
            await service.close()
        await self.alerts.close()
        await self.remotes.close()
        await self.backend.close()
