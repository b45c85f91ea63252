"""Functions in Python for queries that run in the server's process: executed in a child process, one for each
query, which is killed when a call takes too long. A user's text never runs in the server.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from penstock.expressions.errors import EvaluationFailed
from penstock.expressions.json_form import write_type
from penstock.expressions.python_functions import PythonAggregate, PythonFunction
from penstock.plan.plain_serde import PlainSerde

MORE_MS: Final = 1_000
"""How long the child gets to end a call by itself, beyond the function's time."""
START_MS: Final = 30_000
_PLAIN: Final = PlainSerde()


class FunctionProcess:
    """The runtime of one query: a child that is started with the first call."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._waiting = b""

    def scalar(self, function: PythonFunction) -> Callable[..., Any]:
        return self._method(function, "call")

    def table(self, function: PythonFunction) -> Callable[..., list[Any]]:
        return self._method(function, "rows")

    def aggregate(self, function: PythonFunction) -> PythonAggregate:
        names = ("initial", "add", "merge", "result", "undo")
        return PythonAggregate(*(self._method(function, name) for name in names))

    def close(self) -> None:
        with self._lock:
            self._end()

    def _method(self, function: PythonFunction, method: str) -> Callable[..., Any]:
        described = {
            "name": function.name,
            "kind": function.kind,
            "parameters": [[name, write_type(kind)] for name, kind in function.parameters],
            "returns": write_type(function.returns),
            "source": function.source,
            "handler": function.handler,
            "timeout_ms": function.timeout_ms,
        }
        head = json.dumps({"function": described, "method": method})

        def call(*values: Any) -> Any:
            line = f"{head}\t".encode() + _PLAIN.serialize("", list(values)) + b"\n"
            with self._lock:
                answer = self._asked(line, function)
            kind, body = answer[:1], answer[1:]
            if kind == b"!":
                raise EvaluationFailed(json.loads(body))
            return _PLAIN.deserialize("", body)

        return call

    def _asked(self, line: bytes, function: PythonFunction) -> bytes:
        fresh = self._child is None
        child = self._child or self._started()
        assert child.stdin is not None
        try:
            child.stdin.write(line)
            child.stdin.flush()
        except OSError as error:
            self._end()
            raise EvaluationFailed(f"the process of {function.name} has ended") from error
        return self._answer(child, function, function.timeout_ms + MORE_MS + (START_MS if fresh else 0))

    def _answer(self, child: subprocess.Popen[bytes], function: PythonFunction, within_ms: int) -> bytes:
        assert child.stdout is not None
        deadline = time.monotonic() + within_ms / 1000
        with selectors.DefaultSelector() as ready:
            ready.register(child.stdout, selectors.EVENT_READ)
            while b"\n" not in self._waiting:
                left = deadline - time.monotonic()
                if left <= 0 or not ready.select(left):
                    self._end()
                    raise EvaluationFailed(f"{function.name} took longer than {function.timeout_ms} ms")
                data = os.read(child.stdout.fileno(), 1 << 16)
                if not data:
                    self._end()
                    raise EvaluationFailed(f"the process of {function.name} has ended")
                self._waiting += data
        answer, _, self._waiting = self._waiting.partition(b"\n")
        return answer

    def _started(self) -> subprocess.Popen[bytes]:
        self._waiting = b""
        command = [sys.executable, "-m", "penstock.sqlserver.function_worker"]
        self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self._child

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    pipe.close()
