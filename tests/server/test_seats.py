"""Two roles of one match on one address, over sockets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ggp.server.settings import HostOptions
from tests.server.live import LiveServer, live_server, read_reply, start

RULES = """
(role left) (role right) (init (step 0)) (succ 0 1) (succ 1 2) (succ 2 3)
(<= (legal ?r (?r ?x)) (role ?r) (true (step ?x)))
(<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))
(<= terminal (true (step 3))) (goal left 100) (goal right 0)
""".replace("(?r ?x)", "(move ?r ?x)")
ROLES = ("left", "right")


def post(server: LiveServer, body: str, receiver: str) -> str:
    """The text of the reply to a message that ggp-base sends to a player with a name."""
    head = f"POST / HTTP/1.0\r\nReceiver: {receiver}\r\nContent-Length: {len(body)}\r\n\r\n"
    with server.connect() as connection:
        connection.sendall((head + body).encode())
        status, text = read_reply(connection)
        assert status == 200
        return text


@pytest.mark.verify
@pytest.mark.parametrize("names", ["ab", "bb"])
def test_both_roles_play_and_go_on_after_a_restart(tmp_path: Path, names: str) -> None:
    # With names of their own, they may be asked in any order.
    pairs = dict(zip(ROLES, names, strict=True))
    order = ROLES if len({*names}) == 1 else ROLES[::-1]
    options = HostOptions("legal", backend="prolog", log_folder=tmp_path)
    news = "NIL"
    for turns in (range(1), range(1, 3)):
        with live_server(options) as server:
            for role in order if 0 in turns else ():
                assert post(server, start("m", RULES, role), pairs[role]) == "ready"
            for turn in turns:
                for role in order:
                    reply = post(server, f"(PLAY m {news})", pairs[role])
                    assert reply == f"(move {role} {turn})"
                news = f"((move left {turn}) (move right {turn}))"
            if 2 in turns:
                ended = [post(server, f"(STOP m {news})", pairs[role]) for role in order]
                assert ended == ["done", "done"]
                assert "available" in server.post("(INFO)")
    logs = [[json.loads(line) for line in path.open()] for path in tmp_path.glob("m.*.jsonl")]
    assert {log[0]["role"] for log in logs} == {*ROLES}
    for log in logs:
        moves = [event["move"] for event in log if event["event"] == "decision"]
        assert moves == [f"(move {log[0]['role']} {turn})" for turn in range(3)]
        assert log[-1]["why"] == "stop"
