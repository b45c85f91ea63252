"""The child of `function_process.py`: a line in, a line out, until its standard input ends.

What a function prints goes to standard error, so it cannot be taken for an answer.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any, BinaryIO

from penstock.expressions.json_form import read_type
from penstock.expressions.python_functions import AGGREGATE, TABLE, PythonFunction
from penstock.plan.plain_serde import PlainSerde
from penstock.plan.python_runtime import InProcess

_PLAIN = PlainSerde()


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, answers)


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    for line in requests:
        head, _, values = line.rstrip(b"\n").partition(b"\t")
        try:
            result = _PLAIN.serialize("", _method(head)(*_PLAIN.deserialize("", values)))
            answers.write(b"=" + result + b"\n")
        except Exception as error:
            message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            answers.write(b"!" + json.dumps(message).encode() + b"\n")
        answers.flush()


@lru_cache(maxsize=1000)
def _method(head: bytes) -> Callable[..., Any]:
    given = json.loads(head)
    described, runtime = given["function"], InProcess()
    described["parameters"] = tuple((name, read_type(kind)) for name, kind in described["parameters"])
    described["returns"] = read_type(described["returns"])
    function = PythonFunction(**described)
    if function.kind == AGGREGATE:
        method: Callable[..., Any] = getattr(runtime.aggregate(function), given["method"])
        return method
    return runtime.table(function) if function.kind == TABLE else runtime.scalar(function)


if __name__ == "__main__":
    main()
