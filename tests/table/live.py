"""A table that runs in a thread, and what one asks it."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ggp.run.sockets import listen
from match_runner.table.match_manager import MatchManager
from match_runner.table.options import RequestLimits, TableOptions
from match_runner.table.server import table_server

PATIENCE_S = 60.0
"""Machine code may have to be compiled."""

SECRETS = """
; Secrets: chance gives each player a word that only that player sees; each names a word.
(role alice) (role bob) (role random)
(word alice aardvark) (word alice antelope) (word alice armadillo)
(word bob badger) (word bob bandicoot) (word bob beaver)
(init (step 0))
(<= (next (step 1)) (true (step 0)))
(<= (next (step 2)) (true (step 1)))
(<= (next (has ?p ?w)) (does random (deal ?a ?b)) (given ?p ?w ?a ?b))
(<= (next (has ?p ?w)) (true (has ?p ?w)))
(<= (given alice ?a ?a ?b) (word alice ?a) (word bob ?b))
(<= (given bob ?b ?a ?b) (word alice ?a) (word bob ?b))
(<= (legal random (deal ?a ?b)) (true (step 0)) (word alice ?a) (word bob ?b))
(<= (legal random noop) (true (step 1)))
(<= (legal ?p noop) (role ?p) (distinct ?p random) (true (step 0)))
(<= (legal ?p (name high)) (role ?p) (distinct ?p random) (true (step 1)))
(<= (legal ?p (name low)) (role ?p) (distinct ?p random) (true (step 1)))
(<= (sees ?p (your ?w)) (does random (deal ?a ?b)) (given ?p ?w ?a ?b))
(<= terminal (true (step 2)))
(goal alice 100) (goal bob 0) (goal random 0)
"""
"""Nobody can find out the other's word before the end."""

WORDS = {
    "alice": ("aardvark", "antelope", "armadillo"),
    "bob": ("badger", "bandicoot", "beaver"),
}


def seats_of(match: Mapping[str, Any]) -> dict[str, str]:
    """The names of a match's seats in addresses, by role."""
    return {
        role: link.removeprefix("/seat/").partition("?")[0] for role, link in match["links"].items()
    }


class LiveTable:
    """A running table, and somebody's cookies.

    Attributes:
        port: where it listens.
        link: the path that lets one in.
        cookies: sent with every request: the cookie of the table, and of all seats of matches
            that were begun here.
    """

    def __init__(self, port: int, link: str | None = None) -> None:
        self.port, self.link = port, link or "/"
        self.cookies: dict[str, str] = {}
        if link is not None:
            self.enter(link)

    def enter(self, link: str) -> None:
        """Follow a link, and keep its cookie."""
        status, headers, _ = self.request("GET", link)
        assert status == 303
        name, _, value = headers["set-cookie"].partition(";")[0].partition("=")
        self.cookies[name] = value

    def stranger(self, link: str | None = None) -> LiveTable:
        """The same table for somebody else, who has one link or none."""
        return LiveTable(self.port, link)

    @property
    def url(self) -> str:
        """Its address, for browsers."""
        return f"http://localhost:{self.port}"

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body of any answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.putrequest(method, path, skip_host=True)
            headers_sent = {"host": f"localhost:{self.port}", **self._cookie(), **(headers or {})}
            if body is not None and "content-length" not in headers_sent:
                headers_sent["content-length"] = str(len(body))
            for name, value in headers_sent.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def get(self, path: str, status: int = 200) -> Any:
        """The answer of a path, as JSON."""
        answer_status, _, body = self.request("GET", path)
        assert answer_status == status, body
        return json.loads(body)

    def post(self, path: str, data: object, status: int = 200) -> Any:
        """What comes of posting JSON."""
        body = json.dumps(data).encode()
        answer_status, _, answer = self.request(
            "POST", path, body, {"content-type": "application/json"}
        )
        assert answer_status == status, answer
        return json.loads(answer)

    def begin(self, game: str, players: Mapping[str, str], **options: Any) -> Any:
        """A new match: its id, its seats, their links, and its key."""
        request = {"game": game, "players": players, **options}
        match = self.post("/api/matches", request)["matches"][0]
        self.sit(match)
        return match

    def sit(self, match: Mapping[str, Any]) -> None:
        """Take all seats of a match."""
        for link in match["links"].values():
            self.enter(link)

    def _cookie(self) -> dict[str, str]:
        pairs = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return {"cookie": pairs} if pairs else {}

    def until(self, path: str, holds: Callable[[Any], object]) -> Any:
        """The answer of a path as soon as a condition holds of it."""
        end_s = time.monotonic() + PATIENCE_S
        while True:
            status, _, body = self.request("GET", path)
            answer = json.loads(body)
            if status == 200 and holds(answer):
                return answer
            assert time.monotonic() < end_s, answer
            time.sleep(0.02)

    def over(self, match: str) -> Any:
        """A match when it is over."""
        return self.until(
            f"/api/matches/{match}", lambda answer: answer["match"]["status"] == "over"
        )

    def play(self, seat: str, move: str | None = None) -> Any:
        """Make a seat's next move, the first legal one if none is named; returns the view before
        it."""
        answer = self.until(f"/api/seats/{seat}", lambda answer: answer["ask"])
        move_text = move or answer["ask"]["moves"][0]["move"]
        self.post(f"/api/seats/{seat}/move", {"turn": answer["ask"]["turn"], "move": move_text})
        return answer

    @contextmanager
    def stream(self, path: str, last: str | None = None) -> Iterator[Iterator[dict[str, Any]]]:
        """Server-sent events: id, event and data of each."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        headers = {"host": f"localhost:{self.port}", **self._cookie()}
        if last is not None:
            headers["last-event-id"] = last
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        try:
            yield _events(answer)
        finally:
            answer.close()
            connection.close()


def _events(answer: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    """The events; beats, which only show that the connection lives, are left out."""
    event: dict[str, Any] = {}
    while line := answer.readline():
        name, colon, value = line.decode().rstrip("\n").partition(": ")
        if colon and name:
            event[name] = json.loads(value) if name == "data" else value
        elif not line.strip() and event:
            if event["event"] != "beat":
                yield event
            event = {}


@contextmanager
def live_table(
    folder: Path, limits: RequestLimits | None = None, *, port: int = 0, **options: Any
) -> Iterator[LiveTable]:
    """A table in a folder, until the block ends.

    Args:
        options: of `TableOptions`.
    """
    with listen("127.0.0.1", port) as listening:
        manager = MatchManager(
            TableOptions(folder=folder, limits=limits or RequestLimits(), **options)
        )
        server = table_server(manager)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive()
                time.sleep(0.01)
            yield LiveTable(listening.getsockname()[1], f"/?token={manager.token}")
        finally:
            server.should_exit = True
            thread.join()
