"""An OpenAI-compatible server on loopback whose models are scripted: a writer, judges with known biases, and faults.

The model's name is its character: see `_CHARACTERS`. The server counts what it is asked.
"""

import hashlib
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-a-key-for-tests"
_BLOCK = re.compile(r"^\[([0-9a-f]{12}) ([\w ]+)\]\n(.*?)\n\[\1 end\]$", re.DOTALL | re.MULTILINE)
_POSITIVE = re.compile(r"(\d+)% positive")

Body = dict[str, Any]


class FaultError(Exception):
    """An answer that is no completion."""

    def __init__(self, status: int, body: Any = None, **headers: str) -> None:
        self.status = status
        self.body = {"error": {"message": f"fault {status}"}} if body is None else body
        self.headers = headers


def _text(body: Body) -> str:
    return body["messages"][1]["content"]


def _quoted(body: Body) -> dict[str, str]:
    return {name: text for _, name, text in _BLOCK.findall(_text(body))}


def _said(side: str) -> str:
    return json.dumps({"fairness": side, "informativeness": "tie", "groundedness": side, "reasoning": "So it seems."})


def _writer(body: Body) -> str:
    return " ".join(_quoted(body).values())


def _first(body: Body) -> str:
    return _said("A")


def _second(body: Body) -> str:
    return _said("B")


def _side(a: float, b: float) -> str:
    return "A" if a > b else "B" if b > a else "tie"


def _longer(body: Body) -> str:
    answers = _quoted(body)
    return _said(_side(len(answers["answer A"]), len(answers["answer B"])))


def _positive_share(text: str) -> float:
    good, bad = text.count("good"), text.count("bad")
    return good / (good + bad)


def _fair(body: Body) -> str:
    """Nearer to the population where it is told, else the one that holds more views."""
    answers, population = _quoted(body), _POSITIVE.search(_text(body))
    if population is None:
        a, b = (len({word for word in ("good", "bad") if word in text}) for text in answers.values())
    else:
        share = int(population[1]) / 100
        a, b = (-abs(_positive_share(text) - share) for text in answers.values())
    return _said(_side(a, b))


def _some(body: Body, tenths: int) -> bool:
    """Whether this request belongs to a part of all, the same one every time."""
    return hashlib.sha256(json.dumps(body).encode()).digest()[0] % 10 < tenths


def _rubbish(body: Body) -> str:
    return "I would rather not compare these." if _some(body, 3) else _fair(body)


def _fails(status: int, tenths: int = 10) -> Callable[[Body], str]:
    def fail(body: Body) -> str:
        if _some(body, tenths):
            raise FaultError(status)
        return _fair(body)

    return fail


def _no_completion(body: Body) -> str:
    raise FaultError(200, {"choices": [], "error": {"message": "upstream is away"}})


def _spent(body: Body) -> str:
    raise FaultError(429, {"error": {"message": "no credit", "code": "insufficient_quota"}})


def _later(body: Body) -> str:
    raise FaultError(429, **{"Retry-After": "3600"})


def _tells_the_key(body: Body) -> str:
    raise FaultError(401, {"error": {"message": f"wrong key {KEY}\n"}})


_CHARACTERS: dict[str, Callable[[Body], str]] = {
    "writer": _writer,
    "first": _first,
    "second": _second,
    "longer": _longer,
    "fair": _fair,
    "also fair": _fair,
    "rubbish": _rubbish,
    "busy": _fair,
    "slow": _fair,
    "broken": _fails(500),
    "half broken": _fails(500, 5),
    "refusing": _fails(400, 5),
    "no completion": _no_completion,
    "spent": _spent,
    "later": _later,
    "tells the key": _tells_the_key,
    "empty": lambda _body: "",
}


class JudgeServer:
    """The running server, and what it was asked so far.

    Parameters
    ----------
    asked : how often each request came, by its body. faulted : those that once got no completion.
    rubbish : unreadable replies given.
    hold : when set, the request with this number (from 1) and all later ones wait until it is None again.
    """

    def __init__(self) -> None:
        self.asked: Counter[bytes] = Counter()
        self.faulted: set[bytes] = set()
        self.rubbish = 0
        self.hold: int | None = None
        self.keys: set[str | None] = set()
        self.changed = threading.Condition()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"

    @property
    def calls(self) -> int:
        return self.asked.total()

    def answer(self, content: bytes) -> Body:
        """The completion of a request."""
        body = json.loads(content)
        model = body["model"]
        with self.changed:
            self.asked[content] += 1
            times = self.asked[content]
            self.changed.notify_all()
            number = self.calls
            self.changed.wait_for(lambda: self.hold is None or number < self.hold, timeout=60)
        if model == "busy" and times == 1:
            raise FaultError(429, **{"Retry-After": "0"})
        if model == "slow" and times == 1:
            threading.Event().wait(1)
        text = _CHARACTERS[model](body)
        self.rubbish += text.startswith("I would rather not")
        usage = {"prompt_tokens": len(content) // 4, "completion_tokens": 50}
        return {"choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": usage}

    def wait_for_calls(self, n: int) -> None:
        """Return when so many requests have come."""
        with self.changed:
            assert self.changed.wait_for(lambda: self.calls >= n, timeout=60)

    def release(self) -> None:
        """Let waiting requests go on."""
        with self.changed:
            self.hold = None
            self.changed.notify_all()

    def run(self) -> None:
        self._http.serve_forever(poll_interval=0.01)

    def close(self) -> None:
        self.release()
        self._http.shutdown()
        self._http.server_close()


@contextmanager
def running_judges() -> Iterator[JudgeServer]:
    """Start a server on a free port, and stop it in the end."""
    server = JudgeServer()
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join()


def _handler(server: JudgeServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle(self) -> None:
            with suppress(ConnectionError):  # the client has given up, or was killed
                super().handle()

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["content-length"]))
            server.keys.add(self.headers["authorization"])
            try:
                if self.path != "/v1/chat/completions":
                    raise FaultError(404)
                self._send(200, server.answer(content))
            except FaultError as fault:
                server.faulted.add(content)
                self._send(fault.status, fault.body, fault.headers)

        def _send(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
            content = json.dumps(body).encode()
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_args: Any) -> None: ...

    return Handler
