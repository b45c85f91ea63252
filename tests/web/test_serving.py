"""A service as a process: the ready line, and a clean end."""

from __future__ import annotations

import signal
import subprocess
import sys
import urllib.request

PROGRAM = """
from penstock.security.access import Open
from penstock.web import Route, Service, make_app, serve

async def hello(call):
    return {"hello": "world"}

route = Route("GET", "/", hello, "Says it.", access=Open("a test"))
serve(make_app(Service("Hello", "1", "Says hello."), (route,)), "127.0.0.1", 0)
"""


def test_a_service_says_where_it_is_and_ends_with_success_when_asked() -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            word, address = process.stdout.readline().split()
            assert word == "ready"
            with urllib.request.urlopen(f"http://{address}/", timeout=10) as answer:
                assert answer.read() == b'{"hello":"world"}'
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
        finally:
            process.kill()
