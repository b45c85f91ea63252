"""Version 3: access control entries; listed by filter, created one or several at once, deleted by filter."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from msgspec import Struct

from penstock.client.acls import ANY, Acl
from penstock.rest.errors import bad_request
from penstock.rest.proxy import Proxy
from penstock.rest.v3.lookup import View, view_of
from penstock.rest.v3.shapes import Listing
from penstock.web import Answer, Call, Query

FILTER: Final = tuple(
    Query(name, str, None, f"The {words}; all when it is left out.")
    for name, words in (
        ("resource_type", "kind of resource"),
        ("resource_name", "name of the resource"),
        ("pattern_type", "kind of name: LITERAL, PREFIXED, MATCH"),
        ("principal", "principal"),
        ("host", "host"),
        ("operation", "operation"),
        ("permission", "permission: ALLOW, DENY"),
    )
)
NEEDED_TO_DELETE: Final = ("resource_type", "pattern_type", "operation", "permission")


class NewAcl(Struct, forbid_unknown_fields=True):
    resource_type: str
    resource_name: str
    pattern_type: str
    principal: str
    host: str
    operation: str
    permission: str

    @property
    def entry(self) -> Acl:
        return Acl(*(getattr(self, name) for name in Acl._fields))


class NewAcls(Struct, forbid_unknown_fields=True):
    data: list[NewAcl]


class AclMetadata(Struct, rename={"itself": "self"}):
    itself: str


class AclShape(Struct):
    kind: str
    metadata: AclMetadata
    cluster_id: str
    resource_type: str
    resource_name: str
    pattern_type: str
    principal: str
    host: str
    operation: str
    permission: str


class DeletedAcls(Struct):
    data: list[AclShape]


class AclRoutes:
    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy

    async def all(self, call: Call) -> Listing[AclShape]:
        view = await view_of(self._proxy, call)
        found = await self._proxy.ask(self._proxy.clients(call).acls.describe, _filter(call))
        return Listing("KafkaAclList", view.links.listing("acls"), [_shape(view, each) for each in found])

    async def create(self, call: Call) -> Answer:
        view = await view_of(self._proxy, call)
        new: NewAcl = call.body
        await self._proxy.ask(self._proxy.clients(call).acls.create, [new.entry])
        return Answer(None, 201, {"Location": _url(view, new.entry)})

    async def create_several(self, call: Call) -> Answer:
        await view_of(self._proxy, call)
        new: NewAcls = call.body
        await self._proxy.ask(self._proxy.clients(call).acls.create, [each.entry for each in new.data])
        return Answer(None, 201)

    async def delete(self, call: Call) -> DeletedAcls:
        view = await view_of(self._proxy, call)
        missing = [name for name in NEEDED_TO_DELETE if call.query[name] is None]
        if missing:
            raise bad_request(f"Bad Request: deleting access control entries needs {', '.join(missing)}.")
        found = await self._proxy.ask(self._proxy.clients(call).acls.delete, _filter(call))
        return DeletedAcls([_shape(view, each) for each in found])


def _filter(call: Call) -> Acl:
    given = {name: call.query[name] for name in Acl._fields if call.query[name] is not None}
    return Acl(**given)


def _shape(view: View, entry: Acl) -> AclShape:
    named = {name: value or ANY for name, value in entry._asdict().items()}
    return AclShape("KafkaAcl", AclMetadata(_url(view, entry)), view.links.cluster_id, **named)


def _url(view: View, entry: Acl) -> str:
    return f"{view.links.url('acls')}?{urlencode(entry._asdict())}"
