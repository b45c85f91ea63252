"""The paths of the server, with what each asks of its caller."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from penstock.security.access import Access, Open
from penstock.security.operations import Operation, ResourceType
from penstock.sqlserver.about_routes import About
from penstock.sqlserver.insert_routes import Inserts
from penstock.sqlserver.ksql_routes import Statements
from penstock.sqlserver.queries import ClientQueries
from penstock.sqlserver.query_routes import Queries
from penstock.sqlserver.server import SqlServer
from penstock.web import MediaTypes, Problem, Route

KSQL: Final = "application/vnd.ksql.v1+json"
DELIMITED: Final = "application/vnd.ksqlapi.delimited.v1"
_JSON: Final = "application/json"
_FORM: Final = "application/x-www-form-urlencoded"
"""What curl says of a body that it was told nothing about; it is JSON all the same."""
CONSUMED: Final = (KSQL, _JSON, DELIMITED, _FORM, "text/plain")
MEDIA_TYPES: Final = MediaTypes((KSQL, _JSON), CONSUMED)
STREAMED: Final = MediaTypes((DELIMITED, _JSON, KSQL), CONSUMED)
LINES: Final = MediaTypes((KSQL, _JSON, DELIMITED), CONSUMED)
_CHANGES: Final = Access(Operation.ALTER, ResourceType.CLUSTER)
_READS: Final = Access(Operation.READ, ResourceType.TOPIC, when="for each topic that the query reads")
_WRITES: Final = Access(Operation.WRITE, ResourceType.TOPIC, when="for the topic of the rows")
_OPEN: Final = Open("says how the server is, not what it holds")
_PROBLEMS: Final = (
    Problem(400, "The request or a statement is wrong.", 40001),
    Problem(404, "There is no such path or query.", 40400),
    Problem(500, "The server or the cluster failed.", 50000),
)


class KsqlRequest(msgspec.Struct, rename="camel"):
    ksql: str
    streams_properties: dict[str, Any] = {}
    session_variables: dict[str, Any] = {}
    command_sequence_number: int | None = None
    request_properties: dict[str, Any] = {}


class StreamRequest(msgspec.Struct, rename="camel"):
    sql: str
    properties: dict[str, Any] = {}
    session_variables: dict[str, Any] = {}
    request_properties: dict[str, Any] = {}


class CloseRequest(msgspec.Struct, rename="camel"):
    query_id: str


def routes(server: SqlServer, queries: ClientQueries) -> tuple[Route, ...]:
    statements, selects = Statements(server, queries), Queries(server, queries)
    about, inserts = About(server), Inserts(server)
    return (
        Route("POST", "/ksql", statements.ksql, "Statements, one after another.", body=KsqlRequest,
              returns=list[Any], access=_CHANGES, problems=_PROBLEMS),
        Route("POST", "/ksql/terminate", statements.terminate, "End every query of the service.", body=Any,
              body_optional=True, returns=list[Any], access=_CHANGES, problems=_PROBLEMS),
        Route("POST", "/query", selects.query, "Rows of a SELECT, or records of PRINT.", body=KsqlRequest,
              returns=Any, access=_READS, media_types=LINES, problems=_PROBLEMS),
        Route("POST", "/query-stream", selects.stream, "Rows of a SELECT, a line each.", body=StreamRequest,
              returns=Any, access=_READS, media_types=STREAMED, problems=_PROBLEMS),
        Route("GET", "/ws/query", selects.only_socket, "Rows of a SELECT as messages of a web socket.",
              returns=Any, access=_READS, problems=_PROBLEMS),
        Route("POST", "/close-query", selects.close, "End a push query.", body=CloseRequest, access=_READS,
              problems=_PROBLEMS),
        Route("POST", "/inserts-stream", inserts.stream, "Rows in, an answer for each, while both last.",
              body=Any, body_streamed=True, returns=Any, access=_WRITES, media_types=STREAMED,
              problems=_PROBLEMS),
        Route("GET", "/info", about.info, "Version, cluster and service.", returns=Any, access=_OPEN),
        Route("GET", "/v1/metadata", about.info, "The same.", returns=Any, access=_OPEN),
        Route("GET", "/v1/metadata/id", about.cluster, "Ids of cluster and service.", returns=Any,
              access=_OPEN),
        Route("GET", "/healthcheck", about.health, "Whether all parts are well.", returns=Any, access=_OPEN),
        Route("GET", "/clusterStatus", about.cluster_status, "The servers of the service.", returns=Any,
              access=_OPEN),
        Route("GET", "/status", about.statuses, "What became of each command.", returns=Any, access=_CHANGES),
        Route("GET", "/status/{type}/{entity}/{action}", about.status, "What became of a command.",
              returns=Any, access=_CHANGES, problems=_PROBLEMS),
        Route("GET", "/is_valid_property/{property}", about.valid_property, "Whether SET takes a setting.",
              returns=bool, access=_OPEN, problems=_PROBLEMS),
    )  # fmt: skip
