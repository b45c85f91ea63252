# cython: language_level=3, embedsignature=True
"""What each record that was read passes, in C; see `_taken_pure` for what it means."""

from penstock.client.api._taken_pure import TIMESTAMP_TYPES
from penstock.client.api.records import ConsumerRecord

cdef object make = ConsumerRecord
cdef object new = tuple.__new__
cdef dict types = TIMESTAMP_TYPES
cdef tuple no_headers = ()


def plain_records(messages):
    cdef list records = []
    cdef list ends = []
    cdef set seen = set()
    cdef str topic = ""
    cdef long partition = -1, found
    cdef long long last = -1, offset
    cdef tuple when
    cdef int kind
    for message in messages:
        if message.error() is not None:
            return None
        offset = message.offset()
        found = message.partition()
        name = message.topic()
        if found != partition or <str> name != topic:
            if records:
                ends.append(records[-1])
            topic, partition = name, found
            if (topic, partition) in seen:
                return None
            seen.add((topic, partition))
        elif offset <= last:
            return None
        last = offset
        when = message.timestamp()
        kind = when[0]
        headers = message.headers()
        records.append(new(make, (
            topic,
            partition,
            offset,
            when[1] if kind else -1,
            message.key(),
            message.value(),
            no_headers if not headers else headers,
            message.leader_epoch(),
            types.get(kind),
            None,
        )))
    if records:
        ends.append(records[-1])
    return records, ends
