"""What Confluent's reference of the REST Proxy names, and the requests that show our answer.

    python -m tests.rest.api_cases      writes the table of docs/rest.md again

The operations and codes are facts of the public reference of version 2 and version 3. `{t}` in a path is a
topic that is there, `{g}` a group of the case's own.
"""

from __future__ import annotations

from typing import Any

from penstock.rest.v3.tasks import UNSUPPORTED
from tests.house.sources import ROOT
from tests.web.api_tables import Ask, Case, absent, write_table

PAGE = ROOT / "docs" / "rest.md"
V2 = {"content-type": "application/vnd.kafka.v2+json"}
JSON = {"content-type": "application/vnd.kafka.json.v2+json"}
AVRO = {"content-type": "application/vnd.kafka.avro.v2+json"}
READ = {"accept": "application/vnd.kafka.json.v2+json"}
INSTANCE = "/consumers/{group}/instances/{instance}"
HERE = "/consumers/{g}/instances/i"
MAKE = Ask("POST", "/consumers/{g}", {"name": "i", "format": "json"}, None, V2)
PARTITIONS = {"partitions": [{"topic": "<t>", "partition": 0}]}
ASSIGN = Ask("POST", f"{HERE}/assignments", PARTITIONS, None, V2)
SUBSCRIBE = Ask("POST", f"{HERE}/subscription", {"topics": ["<t>"]}, None, V2)
C = "/v3/clusters/{cluster_id}"
K = "/v3/clusters/{c}"


def get(path: str) -> Ask:
    return Ask("GET", path)


def v2_topics() -> list[Case]:
    topic, one = "/topics/{topic}", "/topics/{topic}/partitions/{partition}"
    records = {"records": [{"value": 1}]}
    found = [Case("GET", path, 200, [get(path)]) for path in ("/", "/brokers", "/topics")]
    for path, suffix in ((topic, ""), (f"{topic}/partitions", "/partitions")):
        found += [
            Case("GET", path, 200, [get(f"/topics/{{t}}{suffix}")]),
            Case("GET", path, 40401, [get(f"/topics/nowhere{suffix}")]),
        ]
    for suffix in ("", "/offsets"):
        found += [
            Case("GET", one + suffix, 200, [get(f"/topics/{{t}}/partitions/0{suffix}")]),
            Case("GET", one + suffix, 40401, [get(f"/topics/nowhere/partitions/0{suffix}")]),
            Case("GET", one + suffix, 40402, [get(f"/topics/{{t}}/partitions/99{suffix}")]),
        ]
    for path, at in ((topic, "/topics/{t}"), (one, "/topics/{t}/partitions/0")):
        found += [
            Case("POST", path, 200, [Ask("POST", at, records, None, JSON)]),
            Case("POST", path, 422, [Ask("POST", at, {"record": []}, None, JSON)]),
            Case("POST", path, 42202, [Ask("POST", at, records, None, AVRO)]),
            Case("POST", path, 415, [Ask("POST", at, records, None, {"content-type": "text/plain"})]),
        ]
    unknown = {**records, "value_schema": '"int"'}
    why = "42207 without a Schema Registry; with one see tests/rest/test_schema_records.py."
    return [*found, Case("POST", topic, 42207, [Ask("POST", "/topics/{t}", unknown, None, AVRO)], why)]


def v2_consumers() -> list[Case]:
    group, read = "/consumers/{group}", Ask("GET", f"{HERE}/records", None, None, READ)
    invalid = {"name": "i", "format": "json", "auto.offset.reset": "sideways"}
    offsets = {"offsets": [{"topic": "<t>", "partition": 0, "offset": 0}]}
    found = [
        Case("POST", group, 200, [MAKE]),
        Case("POST", group, 40902, [MAKE, MAKE]),
        Case("POST", group, 42204, [Ask("POST", "/consumers/{g}", invalid, None, V2)]),
        Case("DELETE", INSTANCE, 204, [MAKE, Ask("DELETE", HERE)]),
        Case("DELETE", INSTANCE, 40403, [Ask("DELETE", HERE)]),
        Case("GET", f"{INSTANCE}/records", 200, [MAKE, ASSIGN, read]),
        Case("GET", f"{INSTANCE}/records", 40403, [read]),
        Case("GET", f"{INSTANCE}/records", 40601, [MAKE, ASSIGN, Ask(
            "GET", f"{HERE}/records", None, None, {"accept": "application/vnd.kafka.binary.v2+json"})]),
        Case("GET", f"{INSTANCE}/offsets", 200, [MAKE, ASSIGN, Ask(
            "GET", f"{HERE}/offsets", PARTITIONS, None, V2)]),
        Case("GET", f"{INSTANCE}/offsets", 40403, [Ask("GET", f"{HERE}/offsets", PARTITIONS, None, V2)]),
        Case("POST", f"{INSTANCE}/subscription", 40903, [MAKE, ASSIGN, SUBSCRIBE]),
        Case("POST", f"{INSTANCE}/assignments", 40903, [MAKE, SUBSCRIBE, ASSIGN]),
    ]  # fmt: skip
    for method, suffix, body, before in (
        ("POST", "/offsets", offsets, [MAKE, ASSIGN]),
        ("POST", "/subscription", {"topics": ["<t>"]}, [MAKE]),
        ("POST", "/assignments", PARTITIONS, [MAKE]),
        ("POST", "/positions", offsets, [MAKE, ASSIGN]),
        ("POST", "/positions/beginning", PARTITIONS, [MAKE, ASSIGN]),
        ("POST", "/positions/end", PARTITIONS, [MAKE, ASSIGN]),
        ("DELETE", "/subscription", None, [MAKE, SUBSCRIBE]),
        ("GET", "/subscription", None, [MAKE]),
        ("GET", "/assignments", None, [MAKE]),
    ):
        ask = Ask(method, HERE + suffix, body, None, V2 if body is not None else None)
        status = 200 if method == "GET" or suffix == "/offsets" else 204
        found += [
            Case(method, INSTANCE + suffix, status, [*before, ask]),
            Case(method, INSTANCE + suffix, 40403, [ask]),
        ]
    return found


def v3_reading() -> list[Case]:
    """Operations that only read: 200, and 404 for what is not there."""
    topic, partition = "/topics/{topic_name}", "/topics/{topic_name}/partitions/{partition_id}"
    group, broker = "/consumer-groups/{consumer_group_id}", "/brokers/{broker_id}"
    found = [Case("GET", "/v3/clusters", 200, [get("/v3/clusters")])]
    for path, there, missing in (
        ("", "", None),
        ("/brokers", "/brokers", None),
        (broker, "/brokers/{b}", "/brokers/99"),
        (f"{broker}/partition-replicas", "/brokers/{b}/partition-replicas", "/brokers/99/partition-replicas"),
        (f"{broker}/tasks", "/brokers/{b}/tasks", "/brokers/99/tasks"),
        ("/brokers/-/tasks", "/brokers/-/tasks", None),
        ("/brokers/-/tasks/{task_type}", "/brokers/-/tasks/add-broker", "/brokers/-/tasks/x"),
        (f"{broker}/tasks/{{task_type}}", None, "/brokers/{b}/tasks/add-broker"),
        ("/topics", "/topics", None),
        (topic, "/topics/{t}", "/topics/nowhere"),
        (f"{topic}/partitions", "/topics/{t}/partitions", "/topics/nowhere/partitions"),
        (partition, "/topics/{t}/partitions/0", "/topics/{t}/partitions/99"),
        (f"{partition}/offset", "/topics/{t}/partitions/0/offset", "/topics/{t}/partitions/99/offset"),
        (f"{partition}/replicas", "/topics/{t}/partitions/0/replicas", "/topics/{t}/partitions/99/replicas"),
        (f"{partition}/replicas/{{broker_id}}", "/topics/{t}/partitions/0/replicas/{b}",
         "/topics/{t}/partitions/0/replicas/99"),
        ("/topics/-/partitions/-/reassignment", "/topics/-/partitions/-/reassignment", None),
        (f"{topic}/partitions/-/reassignment", "/topics/{t}/partitions/-/reassignment",
         "/topics/nowhere/partitions/-/reassignment"),
        (f"{partition}/reassignment", None, "/topics/{t}/partitions/0/reassignment"),
        (f"{topic}/default-configs", "/topics/{t}/default-configs", "/topics/nowhere/default-configs"),
        ("/topics/-/configs", "/topics/-/configs", None),
        ("/brokers/-/configs", "/brokers/-/configs", None),
        ("/consumer-groups", "/consumer-groups", None),
        (group, "/consumer-groups/{known}", "/consumer-groups/nowhere"),
        (f"{group}/consumers", "/consumer-groups/{known}/consumers", "/consumer-groups/nowhere/consumers"),
        (f"{group}/consumers/{{consumer_id}}", None, "/consumer-groups/{known}/consumers/x"),
        (f"{group}/consumers/{{consumer_id}}/assignments", None,
         "/consumer-groups/{known}/consumers/x/assignments"),
        (f"{group}/consumers/{{consumer_id}}/assignments/{{topic_name}}/partitions/{{partition_id}}", None,
         "/consumer-groups/{known}/consumers/x/assignments/{t}/partitions/0"),
        (f"{group}/lags", "/consumer-groups/{known}/lags", "/consumer-groups/nowhere/lags"),
        (f"{group}/lag-summary", "/consumer-groups/{known}/lag-summary",
         "/consumer-groups/nowhere/lag-summary"),
        (f"{group}/lags/{{topic_name}}/partitions/{{partition_id}}",
         "/consumer-groups/{known}/lags/{t}/partitions/0", "/consumer-groups/{known}/lags/{t}/partitions/9"),
    ):  # fmt: skip
        if there is not None:
            found.append(Case("GET", C + path, 200, [get(K + there)]))
        else:
            found.append(Case("GET", C + path, 200, (), _NOT_TRIED.get(path, "")))
        if missing is not None:
            found.append(Case("GET", C + path, 404, [get(K + missing)]))
    return found


_NOT_TRIED = {
    "/brokers/{broker_id}/tasks/{task_type}": "There are no tasks: replicas move by reassignments.",
}


def v3_configs() -> list[Case]:
    found = []
    for path, at, name in (
        ("/topics/{topic_name}", "/topics/{t}", "retention.ms"),
        ("/brokers/{broker_id}", "/brokers/{b}", "log.cleaner.threads"),
    ):
        found += config_cases(f"{path}/configs", f"{at}/configs", name)
    return [*found, *config_cases("/broker-configs", "/broker-configs", "log.cleaner.threads")]


def config_cases(path: str, at: str, name: str) -> list[Case]:
    value = {"value": "3600000" if name == "retention.ms" else "1"}
    change = {"data": [{"name": name, **value}]}
    wrong = {"data": [{"name": name, "value": "sideways"}]}
    return [
        Case("GET", C + path, 200, [get(K + at)]),
        Case("PUT", f"{C}{path}/{{name}}", 204, [Ask("PUT", f"{K}{at}/{name}", value)]),
        Case("PUT", f"{C}{path}/{{name}}", 40002, [Ask("PUT", f"{K}{at}/{name}", {"value": "sideways"})]),
        Case("GET", f"{C}{path}/{{name}}", 200, [get(f"{K}{at}/{name}")]),
        Case("GET", f"{C}{path}/{{name}}", 404, [get(f"{K}{at}/no.such.setting")]),
        Case("POST", f"{C}{path}:alter", 204, [Ask("POST", f"{K}{at}:alter", change)]),
        Case("POST", f"{C}{path}:alter", 40002, [Ask("POST", f"{K}{at}:alter", wrong)]),
        Case("DELETE", f"{C}{path}/{{name}}", 204, [Ask("DELETE", f"{K}{at}/{name}")]),
    ]


def v3_changing() -> list[Case]:
    topics, topic = f"{C}/topics", f"{C}/topics/{{topic_name}}"
    new: dict[str, Any] = {"topic_name": "new-<g>", "partitions_count": 1, "replication_factor": 1}
    make = Ask("POST", f"{K}/topics", new)
    record: dict[str, Any] = {"value": {"type": "JSON", "data": 1}}
    no_base64: dict[str, Any] = {"value": {"type": "BINARY", "data": 1}}
    entry = {"resource_type": "TOPIC", "resource_name": "x", "pattern_type": "LITERAL",
             "principal": "User:a", "host": "*", "operation": "READ", "permission": "ALLOW"}  # fmt: skip
    batch = {"entries": [{"id": "1", **record}]}
    off = "40002 where the cluster has no authorizer; with one see tests/rest/v3/test_acls.py."
    return [
        Case("POST", topics, 201, [make]),
        Case("POST", topics, 40002, [make, make]),
        Case("POST", topics, 42206, [Ask("POST", f"{K}/topics", {**new, "topic_name": "a/b"})]),
        Case("PATCH", topic, 200, [make, Ask("PATCH", f"{K}/topics/new-{{g}}", {"partitions_count": 2})]),
        Case("PATCH", topic, 404, [Ask("PATCH", f"{K}/topics/nowhere", {"partitions_count": 2})]),
        Case("DELETE", topic, 204, [make, Ask("DELETE", f"{K}/topics/new-{{g}}")]),
        Case("DELETE", topic, 404, [Ask("DELETE", f"{K}/topics/nowhere")]),
        Case("POST", f"{topic}/records", 200, [Ask("POST", f"{K}/topics/{{t}}/records", record)]),
        Case("POST", f"{topic}/records", 200, [Ask("POST", f"{K}/topics/{{t}}/records", no_base64)],
             "Errors of single records (40002, 42206, …) stand in the answer's lines."),
        Case("POST", f"{topic}/records:batch", 207, [Ask("POST", f"{K}/topics/{{t}}/records:batch", batch)]),
        Case("GET", f"{C}/acls", 40002, [get(f"{K}/acls")], off),
        Case("POST", f"{C}/acls", 40002, [Ask("POST", f"{K}/acls", entry)], off),
        Case("POST", f"{C}/acls:batch", 40002, [Ask("POST", f"{K}/acls:batch", {"data": [entry]})], off),
        Case("DELETE", f"{C}/acls", 40002, [Ask("DELETE", f"{K}/acls", None, entry)], off),
    ]  # fmt: skip


def v3_missing() -> list[Case]:
    return [
        Case(method, path, 40035, [Ask(method, _concrete(path))], "Penstock's broker has no such groups.")
        for method, path, _ in UNSUPPORTED
    ]


def v3_share_groups() -> list[Case]:
    groups, seen = f"{C}/share-groups", "200 in tests/rest/v3/test_share_groups.py."
    group, member = f"{groups}/{{group_id}}", f"{groups}/{{group_id}}/consumers/{{consumer_id}}"
    found = [Case("GET", groups, 200, [get(f"{K}/share-groups")])]
    for method, path, status in (
        ("GET", group, 200),
        ("DELETE", group, 204),
        ("GET", f"{group}/consumers", 200),
        ("GET", member, 200),
        ("GET", f"{member}/assignments", 200),
    ):
        found.append(Case(method, path, status, [], seen.replace("200", str(status))))
        found.append(Case(method, path, 40405, [Ask(method, _concrete(path))]))
    return found


OF_SERVER = "Of Confluent Server."
OF_CLOUD = "Of Confluent Cloud."
OF_LINKS = "Cluster links of Confluent Server; here `penstock mirror` copies clusters."


def v3_absent() -> list[Case]:
    """What the descriptions of Confluent Server and Confluent Cloud have beyond the proxy's own."""
    link = "/links/{link_name}"
    mirrors = f"{link}/mirrors"
    replica_status = "/topics/{topic_name}/partitions"
    found = [
        ("DELETE", "/brokers/{broker_id}", f"{OF_SERVER} Reassignments empty a broker."),
        ("POST", "/brokers:delete", OF_SERVER),
        ("POST", "/brokers/{broker_id}:unregister", OF_SERVER),
        ("GET", "/balancer", OF_SERVER),
        ("GET", "/balancer/any-uneven-load", OF_SERVER),
        ("GET", "/broker-replica-exclusions", OF_SERVER),
        ("GET", "/broker-replica-exclusions/{broker_id}", OF_SERVER),
        ("POST", "/broker-replica-exclusions:create", OF_SERVER),
        ("POST", "/broker-replica-exclusions:delete", OF_SERVER),
        ("GET", "/remove-broker-tasks", OF_SERVER),
        ("GET", "/remove-broker-tasks/{broker_id}", OF_SERVER),
        ("GET", "/topics/-/partitions/-/replica-status", OF_SERVER),
        ("GET", f"{replica_status}/-/replica-status", OF_SERVER),
        ("GET", f"{replica_status}/{{partition_id}}/replica-status", OF_SERVER),
        ("GET", "/cells", OF_CLOUD),
        *((method, "/links", OF_LINKS) for method in ("GET", "POST")),
        *((method, link, OF_LINKS) for method in ("GET", "DELETE")),
        ("GET", f"{link}/configs", OF_LINKS),
        *((method, f"{link}/configs/{{config_name}}", OF_LINKS) for method in ("GET", "PUT", "DELETE")),
        ("PUT", f"{link}/configs:alter", OF_LINKS),
        ("GET", "/links/-/mirrors", OF_LINKS),
        *((method, mirrors, OF_LINKS) for method in ("GET", "POST")),
        ("GET", f"{mirrors}/{{mirror_topic_name}}", OF_LINKS),
        *(("POST", f"{mirrors}:{word}", OF_LINKS) for word in (
            "failover", "pause", "promote", "resume", "reverse-and-pause-mirror",
            "reverse-and-start-mirror", "truncate-and-restore")),
    ]  # fmt: skip
    return [
        absent(method, C + path, 405 if path.startswith("/brokers/{") else 404, _concrete(C + path), why)
        for method, path, why in found
    ]


def _concrete(path: str) -> str:
    below = path.removeprefix(C)
    return K + below.replace("{", "").replace("}", "")


CASES = (*v2_topics(), *v2_consumers(), *v3_reading(), *v3_configs(), *v3_changing(), *v3_share_groups(),
         *v3_missing(), *v3_absent())  # fmt: skip

if __name__ == "__main__":
    write_table(PAGE, CASES)
