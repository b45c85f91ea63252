"""Custom options as what they mean: fields of the extension that defines them, instead of their words.

A descriptor that clients read without our parser must have them so. An option whose extension is not in reach
stays as its words.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf import message_factory, text_format
from google.protobuf.descriptor_pb2 import FileDescriptorProto, UninterpretedOption
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.text_encoding import CEscape


def interpreted(file: FileDescriptorProto, pool: DescriptorPool) -> FileDescriptorProto:
    """A copy of the file with its custom options interpreted."""
    copy = FileDescriptorProto()
    copy.CopyFrom(file)
    for options in _all_options(copy):
        left = [
            each for each in options.uninterpreted_option if not _interpret(options, each, pool, file.package)
        ]
        del options.uninterpreted_option[:]
        options.uninterpreted_option.extend(left)
    return copy


def _interpret(options: Any, option: UninterpretedOption, pool: DescriptorPool, package: str) -> bool:
    """False when the option stays as it is."""
    first, *rest = option.name
    name = _extension_name(first.name_part.lstrip("."), pool, package) if first.is_extension else None
    if name is None:
        return False
    text = _value(option)
    for part in reversed(rest):
        inner = f"[{part.name_part}]" if part.is_extension else part.name_part
        text = f"{{ {inner}{text if text.startswith('{') else f': {text}'} }}"
    try:
        kind = pool.FindMessageTypeByName(options.DESCRIPTOR.full_name)
        known = message_factory.GetMessageClass(kind)()
        text_format.Merge(
            f"[{name}]{text if text.startswith('{') else f': {text}'}", known, descriptor_pool=pool
        )
    except (KeyError, text_format.ParseError):
        return False
    options.MergeFromString(known.SerializeToString())
    return True


def _extension_name(written: str, pool: DescriptorPool, package: str) -> str | None:
    """The full name of an extension, which is looked up from the file's package outwards."""
    while True:
        full = f"{package}.{written}" if package else written
        try:
            pool.FindExtensionByName(full)
            return full
        except KeyError:
            if not package:
                return None
        package = package.rpartition(".")[0]


def _value(option: UninterpretedOption) -> str:
    if option.HasField("string_value"):
        return f'"{CEscape(option.string_value, False)}"'
    if option.HasField("aggregate_value"):
        return f"{{ {option.aggregate_value} }}"
    for name in ("identifier_value", "positive_int_value", "negative_int_value"):
        if option.HasField(name):
            return str(getattr(option, name))
    return repr(option.double_value)


def _all_options(part: Message) -> Iterator[Any]:
    """The options of a descriptor and of everything within it that has some."""
    for field, value in part.ListFields():
        if field.name == "options":
            if value.uninterpreted_option:
                yield value
        elif field.message_type is not None and field.is_repeated:
            for each in value:
                yield from _all_options(each)
