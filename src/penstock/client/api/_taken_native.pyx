# cython: language_level=3, embedsignature=True
"""What each record that was read passes, in C; see `_taken_pure` for what it means.

A method of librdkafka's message is called by its C function, which its method descriptor names: a call
through the interpreter takes ten times as long. Objects of another class are called the ordinary way.
"""

from cpython.object cimport PyTypeObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_SET_ITEM

from confluent_kafka import Message

from penstock.client.api._taken_pure import TIMESTAMP_TYPES
from penstock.client.api.records import ConsumerRecord

cdef extern from "Python.h":
    ctypedef object (*Method)(object, void *)
    ctypedef struct PyMethodDef:
        Method ml_meth
        int ml_flags
    ctypedef struct PyMethodDescrObject:
        PyMethodDef *d_method
    int METH_NOARGS
    object PyType_GenericAlloc(PyTypeObject *, Py_ssize_t)
    void PyObject_GC_UnTrack(object)

cdef extern from *:
    """
    #define method_of(descriptor) ((Method) ((PyMethodDescrObject *) (descriptor))->d_method->ml_meth)
    typedef PyObject *(*Method)(PyObject *, void *);
    """
    Method method_of(object)

cdef object message_type = Message
cdef object descriptor_type = type(str.lower)
cdef PyTypeObject *record_type = <PyTypeObject *> ConsumerRecord
cdef dict types = TIMESTAMP_TYPES
cdef tuple no_headers = ()
cdef enum:
    FIELDS = 10


cdef Method named(str name) except NULL:
    descriptor = Message.__dict__[name]
    if type(descriptor) is not descriptor_type:
        raise ImportError(f"Message.{name} is no method in C")
    if (<PyMethodDescrObject *> descriptor).d_method.ml_flags != METH_NOARGS:
        raise ImportError(f"Message.{name} takes arguments")
    return method_of(descriptor)


cdef Method error_of = named("error")
cdef Method topic_of = named("topic")
cdef Method partition_of = named("partition")
cdef Method offset_of = named("offset")
cdef Method timestamp_of = named("timestamp")
cdef Method key_of = named("key")
cdef Method value_of = named("value")
cdef Method headers_of = named("headers")
cdef Method epoch_of = named("leader_epoch")


def last_messages(messages):
    cdef dict last = {}
    cdef str topic = None
    cdef long partition = -1, found
    cdef long long before = -1, offset
    cdef bint direct
    latest = None
    for message in messages:
        direct = type(message) is message_type
        if (error_of(message, NULL) if direct else message.error()) is not None:
            return None
        name = topic_of(message, NULL) if direct else message.topic()
        found = partition_of(message, NULL) if direct else message.partition()
        offset = offset_of(message, NULL) if direct else message.offset()
        if found != partition or <str> name != topic:
            if latest is not None:
                last[topic, partition] = latest
            topic, partition = name, found
            earlier = last.get((topic, partition))
            before = -1 if earlier is None else earlier.offset()
        if offset <= before:
            return None
        before, latest = offset, message
    if latest is not None:
        last[topic, partition] = latest
    return list(last.values())


cdef inline void put(object record, Py_ssize_t at, object field):
    Py_INCREF(field)
    PyTuple_SET_ITEM(record, at, field)


def plain_records(messages):
    cdef list records = []
    cdef str topic = None
    cdef tuple when
    cdef bint direct
    for message in messages:
        direct = type(message) is message_type
        name = topic_of(message, NULL) if direct else message.topic()
        if topic is None or <str> name != topic:
            topic = name  # one text for all records of the topic
        partition = partition_of(message, NULL) if direct else message.partition()
        offset = offset_of(message, NULL) if direct else message.offset()
        when = timestamp_of(message, NULL) if direct else message.timestamp()
        key = key_of(message, NULL) if direct else message.key()
        value = value_of(message, NULL) if direct else message.value()
        headers = headers_of(message, NULL) if direct else message.headers()
        epoch = epoch_of(message, NULL) if direct else message.leader_epoch()
        record = PyType_GenericAlloc(record_type, FIELDS)
        put(record, 0, topic)
        put(record, 1, partition)
        put(record, 2, offset)
        put(record, 3, when[1] if when[0] else -1)
        put(record, 4, key)
        put(record, 5, value)
        put(record, 6, headers if headers else no_headers)
        put(record, 7, epoch)
        put(record, 8, types.get(when[0]))
        put(record, 9, None)
        if not headers:
            # Texts, numbers and bytes are never part of a cycle: the collector need not walk the record.
            PyObject_GC_UnTrack(record)
        records.append(record)
    return records
