"""What other users of the machine can do: the claims of docs/use/table.md, tried as one of them.

They have processes of their own, whatever a program can do with a socket and a file, and in the
end the table's link too. Skipped where the tests cannot become another user.
"""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.table.live import LiveTable, live_table, seats_of

OTHER = "nobody"

PROGRAM = """
import http.client, json, os, sys
asked = json.load(sys.stdin)
"localhost".encode("idna")  # whatever is to be imported must be by now
os.setgroups([])
os.setgid(asked["gid"])
os.setuid(asked["uid"])
told = {"user": os.getuid(), "answers": [], "files": []}
for method, path, headers, body in asked["requests"]:
    line = http.client.HTTPConnection("127.0.0.1", asked["port"], timeout=60)
    line.request(method, path, body, {"host": "localhost:%d" % asked["port"], **headers})
    answer = line.getresponse()
    stream = answer.headers["content-type"] == "text/event-stream"
    told["answers"].append([answer.status, "" if stream else answer.read().decode()])
    line.close()
for path in asked["files"]:
    try:
        open(path).read()
        told["files"].append(path)
    except OSError:
        pass
json.dump(told, sys.stdout)
"""

SECRET = "(role agent) (init (word xylophone))"

Request = tuple[str, str, dict[str, str], str | None]


def as_other(port: int, requests: Sequence[Request], files: list[Path]) -> Any:
    """What another user gets for requests, and which files that user can read."""
    user = pwd.getpwnam(OTHER)
    task: dict[str, Any] = {"port": port, "requests": requests, "files": list(map(str, files))}
    # Python may lie where that user cannot start it, so the program becomes that user.
    process = subprocess.run(
        [sys.executable, "-I", "-S", "-c", PROGRAM],
        input=json.dumps({**task, "uid": user.pw_uid, "gid": user.pw_gid}),
        capture_output=True,
        text=True,
        cwd="/",
        env={},
        check=True,
    )
    report = json.loads(process.stdout)
    assert report["user"] == user.pw_uid != os.getuid()
    return report


@dataclass(frozen=True)
class Prey:
    """A table of root's, in whose start folder there is a private file."""

    table: LiveTable
    folder: Path
    begun: Any


@pytest.fixture(scope="module")
def prey(own_cache: None) -> Iterator[Prey]:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    folder_before = os.getcwd()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # as the folders of users often are
        os.chdir(folder)
        (folder / "secret.gdl").write_text(SECRET)
        (folder / "secret.gdl").chmod(0o600)
        (folder / "evil.py").write_text(f"open({str(folder / 'ran')!r}, 'w')")
        with live_table(folder / "table") as table:
            match = table.begin("tic_tac_toe", {"xplayer": "human", "oplayer": "human"})
            yield Prey(table, folder, match)
        os.chdir(folder_before)


def test_without_a_token_others_get_nothing(prey: Prey) -> None:
    match, seat = f"/api/matches/{prey.begun['id']}", seats_of(prey.begun)["xplayer"]
    headers = {"content-type": "application/json"}
    forged = {"cookie": f"ggp-table-{prey.table.port}=x; ggp-seat-{prey.table.port}-{seat}=x"}
    gets = ["/", "/static/table.js", "/api/lobby", "/api/events", "/api/series", match]
    gets += [f"{match}/events", f"/api/seats/{seat}", f"/seat/{seat}", "/?token=guess"]
    posts: dict[str, Any] = {
        "/api/rules": {"game": "secret.gdl"},
        "/api/player": {"player": "evil:P"},
    }
    posts |= {f"/api/seats/{seat}/move": {"turn": 0, "move": "(mark 1 1)"}, f"{match}/end": {}}
    posts |= {"/api/matches": {"game": "tic_tac_toe", "players": {"xplayer": "evil:P"}}}
    requests: list[Request] = []
    for sent_headers in ({}, forged):
        requests += [("GET", path, sent_headers, None) for path in gets]
        requests += [
            ("POST", p, headers | sent_headers, json.dumps(data)) for p, data in posts.items()
        ]
    matches_folder = prey.folder / "table" / "matches"
    files = [
        matches_folder / "token",
        matches_folder / prey.begun["id"] / "match.json",
        prey.folder / "secret.gdl",
    ]
    assert all(path.is_file() for path in files)
    report = as_other(prey.table.port, requests, files)
    assert {status for status, _ in report["answers"]} == {403}
    assert all("you need a link" in body.lower() for _, body in report["answers"])
    assert report["files"] == []
    assert not (prey.folder / "ran").exists()
    assert prey.table.get(match)["match"]["status"] != "over"


def test_with_the_token_others_read_no_file_run_no_code_and_write_nothing(prey: Prey) -> None:
    written = prey.folder / "written"
    secret = str(prey.folder / "secret.gdl")
    agents: dict[str, Any] = {"game": "exploding_bomb"}
    attacks: list[tuple[str, Any]] = [
        ("/api/rules", {"game": name}) for name in ("secret.gdl", secret, "../secret.gdl")
    ]
    players = ["evil:P", "evil", f"policy:file={secret}", f"los:evaluation={secret}"]
    players += [f"pimc:model={kind}:{written}" for kind in ("learned", "policy", "threshold")]
    players += [f"http://127.0.0.1:{prey.table.port}", f"localhost:{prey.table.port}"]
    for player in players:
        attacks.append(("/api/matches", {**agents, "players": {"agent": player}}))
        attacks.append(("/api/player", {"player": player}))
    attacks += [
        ("/api/matches", {"game": secret, "players": {"agent": "random"}}),
        ("/api/rules", {"rules": f"openspiel:efg_game(filename={secret})"}),
    ]
    cookie = "; ".join(f"{name}={value}" for name, value in prey.table.cookies.items())
    headers = {"content-type": "application/json", "cookie": cookie}
    requests = [("POST", path, headers, json.dumps(data)) for path, data in attacks]
    report = as_other(prey.table.port, requests, [])
    for (path, data), (status, body) in zip(attacks, report["answers"], strict=True):
        assert status == 400 or json.loads(body)["ok"] is False, (path, data)
        assert "xylophone" not in body
    assert not (prey.folder / "ran").exists()
    assert not written.exists()
