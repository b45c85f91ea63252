"""Links and names of resources: URLs of this proxy and Confluent's resource names. Pure."""

from __future__ import annotations

from urllib.parse import quote

from penstock.rest.v3.shapes import ListMetadata, Metadata, Related


class Links:
    """Of one cluster, as one client reaches it."""

    def __init__(self, base_url: str, cluster_id: str) -> None:
        self.cluster_id = cluster_id
        self._base = f"{base_url}/v3/clusters"

    def url(self, *parts: object) -> str:
        return "/".join([self._base, *(quote(str(part), safe="-") for part in (self.cluster_id, *parts))])

    def related(self, *parts: object) -> Related:
        return Related(self.url(*parts))

    def clusters(self) -> ListMetadata:
        return ListMetadata(self._base)

    def listing(self, *parts: object) -> ListMetadata:
        return ListMetadata(self.url(*parts))

    def metadata(self, parts: tuple[object, ...], *names: tuple[str, object]) -> Metadata:
        """`parts` are the path below the cluster, `names` the steps of the resource's name."""
        steps = [("kafka", self.cluster_id), *names]
        crn = "crn:///" + "/".join(f"{kind}={quote(str(name), safe='')}" for kind, name in steps)
        return Metadata(self.url(*parts), crn)
