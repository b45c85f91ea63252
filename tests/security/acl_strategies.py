"""Random access control entries and requests that touch each other often."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

from penstock.security.acls import Acl, PatternType, Permission
from penstock.security.operations import Operation, ResourceType

NAMES = ["a", "ab", "abc", "b", "*", "ba", "a*", "abcd"]
PRINCIPALS = ["User:alice", "User:bob", "User:*", "Group:alice"]
HOSTS = ["*", "10.0.0.1", "10.0.0.2"]
TYPES = [ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER, ResourceType.TRANSACTIONAL_ID]
REAL = [operation for operation in Operation if operation not in (Operation.ANY, Operation.ALL)]


class Question(NamedTuple):
    principal: str
    host: str
    operation: Operation
    resource: ResourceType
    name: str


acls = st.builds(
    Acl,
    st.sampled_from(TYPES),
    st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    st.sampled_from(NAMES),
    st.sampled_from(PRINCIPALS),
    st.sampled_from(HOSTS),
    st.sampled_from([operation for operation in Operation if operation is not Operation.ANY]),
    st.sampled_from([Permission.DENY, Permission.ALLOW]),
)
questions = st.builds(
    Question,
    st.sampled_from(["User:alice", "User:bob", "User:carol", "Group:alice", "User:admin"]),
    st.sampled_from(HOSTS[1:]),
    st.sampled_from(REAL),
    st.sampled_from(TYPES),
    st.sampled_from([name for name in NAMES if name != "*"]),
)
