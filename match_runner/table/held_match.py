"""One match on the server: its frames so far, who may see them, and who is to move.

Messages of the worker that plays the match come in; events for browsers go out. There are three
kinds of audiences. `ALL` sees everything, players' minds included. `BOARD` sees the state and the
moves. Each seat is an audience, named by its role, and sees only the frames that the worker made
for that role.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

from ggp.gdl.source import describe
from match_runner.match.records import TakenBack
from match_runner.table.match_folder import MatchSetup
from match_runner.table.seating import HUMAN

# ------------------------------------------------------------------------
# Events for browsers: a log that each browser follows at its own pace.
#
# A match has one log for all its audiences. Entries are kept and numbered: a browser that was away
# requests the entries after the last one that it has. News that matter only for a moment (a
# player's present thoughts) are not kept: each kind of news has a place, and followers get its
# latest content.
#
# A slow reader delays nobody: it reads the log whenever its socket has room.

BEAT_S = 1.5
"""Seconds between heartbeats, by which the server notices that a reader is gone. A page concludes
after three missing heartbeats that the server is gone."""

_MAX_DIGITS = 15


class Entry(NamedTuple):
    """An entry of a log: one event.

    Attributes:
        audience: who may see it.
        kind: name of the event.
        text: its data as JSON.
    """

    audience: str
    kind: str
    text: str


class EventLog:
    """A log of events, and the present news.

    Attributes:
        epoch: distinguishes this log from logs of the same match on earlier servers.
    """

    def __init__(self) -> None:
        self.epoch = secrets.token_hex(4)
        self._entries: list[Entry] = []
        self._news: dict[tuple[str, str], tuple[int, Entry]] = {}
        self._num_news = 0
        self._changed = asyncio.Event()
        self._closed = False

    @property
    def last(self) -> str:
        """Position of the last entry: a reader that starts after it gets only new entries."""
        return f"{self.epoch}-{len(self._entries)}"

    def add(self, audience: str, kind: str, data: Any) -> None:
        """Add an entry, which is kept."""
        text = data if isinstance(data, str) else json.dumps(data)
        self._entries.append(Entry(audience, kind, text))
        self._wake()

    def show(self, audience: str, place: str, kind: str, data: Any) -> None:
        """Publish news, replacing earlier news in the same place; nothing if they say the same."""
        entry = Entry(audience, kind, json.dumps(data))
        if self._news.get((audience, place), (0, None))[1] != entry:
            self._num_news += 1
            self._news[audience, place] = self._num_news, entry
            self._wake()

    def clear(self, place: str) -> None:
        """Remove the news in a place, for all audiences."""
        for key in [key for key in self._news if key[1] == place]:
            del self._news[key]

    def close(self) -> None:
        """Close the log: there will be no more entries, and readers end after the last one."""
        self._closed = True
        self._wake()

    async def follow(self, audience: str, start: str) -> AsyncIterator[str]:
        """Yield all events for an audience after a position, as server-sent events.

        Args:
            start: see `last`. If it belongs to another log, the event `reset` comes first: the
                reader must reload everything.
        """
        at = self._place(start) if start else 0
        if at is None:
            yield f"id: {self.last}\nevent: reset\ndata: {{}}\n\n"
            at = len(self._entries)
        newest = 0
        while True:
            changed = self._changed
            while at < len(self._entries):
                entry = self._entries[at]
                at += 1
                if entry.audience == audience:
                    yield f"id: {self.epoch}-{at}\nevent: {entry.kind}\ndata: {entry.text}\n\n"
            fresh = sorted(
                (number, entry)
                for (reader, _), (number, entry) in self._news.items()
                if reader == audience and number > newest
            )
            for number, entry in fresh:
                newest = max(newest, number)
                yield f"event: {entry.kind}\ndata: {entry.text}\n\n"
            if self._closed:
                return
            try:
                await asyncio.wait_for(changed.wait(), BEAT_S)
            except TimeoutError:
                yield "event: beat\ndata: {}\n\n"

    def _place(self, text: str) -> int | None:
        """Number of entries up to a position; None if it does not belong to this log."""
        epoch, _, number = text.partition("-")
        if epoch != self.epoch or not number.isdecimal() or len(number) > _MAX_DIGITS:
            return None
        return at if (at := int(number)) <= len(self._entries) else None

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


# ------------------------------------------------------------------------

ALL, BOARD = "all", "board"
"""Audiences other than seats, which are `seat:ROLE`."""

_BRIEF = (
    *("turn", "over", "moves", "percepts", "faults"),
    *("move", "chose", "known", "words", "values"),
)
"""Fields of a frame that we send for earlier turns; browsers request the pictures one by one."""

Json = dict[str, Any]


def seat_of(role: str) -> str:
    """Audience of the seat of a role."""
    return f"seat:{role}"


@dataclass
class HeldMatch:
    """A match.

    Attributes:
        setup: the settings of the match.
        status: `waiting` for a worker, `running`, or `over`.
        log: events for browsers.
        frames: frames of every audience, by turn, as JSON texts.
        questions: the open question to each person, by role.
        beliefs: each person's belief, from its own moves and percepts, by role and turn: pictures
            as JSON texts, sent on request.
        preparing: what is being prepared, and the finished share: before the first turn, or while
            machine code is compiled; else None.
    """

    setup: MatchSetup
    status: str = "waiting"
    log: EventLog = field(default_factory=EventLog)
    frames: dict[str, list[str]] = field(default_factory=dict)
    questions: dict[str, Json] = field(default_factory=dict)
    beliefs: dict[str, dict[int, str]] = field(default_factory=dict)
    preparing: Json | None = None

    @property
    def people(self) -> tuple[str, ...]:
        """Roles that people play."""
        return tuple(r for r, player in self.setup.players.items() if player == HUMAN)

    def seat_name(self, role: str) -> str:
        """Name of a seat in addresses; it is not secret."""
        return f"{self.setup.id}-{self.setup.roles.index(role)}"

    def seat_links(self) -> dict[str, str]:
        """Links to the seats, with their secrets, by role."""
        return {
            role: f"/seat/{self.seat_name(role)}?token={token}"
            for role, token in self.setup.seats.items()
        }

    @property
    def is_over(self) -> bool:
        """Whether the match is over, for whatever reason."""
        return self.status == "over"

    @property
    def turns(self) -> int:
        """Number of turns so far that are in memory."""
        return max(0, len(self.frames.get(ALL, ())) - 1)

    def audience(self, key: str, *, open_minds: bool) -> str | None:
        """Audience of a visitor without a seat; None if the visitor may see nothing.

        Args:
            key: the visitor's key.
            open_minds: whether everybody may see everything.
        """
        if self.is_over or not self.people or open_minds:
            return ALL
        if secrets.compare_digest(key.encode(), self.setup.key.encode()):
            return ALL
        return BOARD if self.setup.is_told else None

    # ---------------------------------------------------------------- messages of the worker

    def receive(self, message: Mapping[str, Any]) -> Json | None:
        """Take in a message of the worker; return the turn to write down, if it has one."""
        match message["kind"]:
            case "frame":
                return self._frame(message)
            case "ask":
                self._ask(message)
            case "preparing":
                step = {key: message[key] for key in ("text", "note", "share", "until")}
                self._show_preparing(step)
            case "thought":
                thought = {name: message[name] for name in ("role", "turn", "decision", "words")}
                self.log.show(ALL, f"thought {message['role']}", "thought", thought)
        return None

    def moved(self, role: str) -> None:
        """Note that a person has moved."""
        self.questions.pop(role, None)
        self.log.add(seat_of(role), "moved", {})
        self._show_waiting()

    def last_choice(self, role: str) -> int | None:
        """Index of the last turn in which a person had a choice; None if there is none."""
        texts = self.frames.get(seat_of(role), [])
        chosen = (turn for turn in range(len(texts) - 1, 0, -1) if json.loads(texts[turn])["chose"])
        return next((turn - 1 for turn in chosen), None)

    def take_back(self, role: str, turn: int) -> None:
        """Go back to before a person's move in a turn, and note it.

        Pages that follow the match must reload everything.
        """
        move = json.loads(self.frames[seat_of(role)][turn + 1])["move"]
        taken_back = (*self.setup.taken_back, TakenBack(turn, role, move))
        self.setup = replace(self.setup, taken_back=taken_back)
        self.frames = {audience: texts[: turn + 1] for audience, texts in self.frames.items()}
        for pictures in self.beliefs.values():
            for later in [number for number in pictures if number > turn]:
                del pictures[later]
        self.questions.clear()
        earlier, self.log = self.log, EventLog()
        earlier.close()

    def ended(self, setup: MatchSetup) -> None:
        """Note that the match is over."""
        self.setup, self.status = setup, "over"
        self.questions.clear()
        for audience in self._audiences():
            self.log.add(audience, "end", self.result())
        self.log.close()

    def forget(self) -> None:
        """Drop the frames and events of a match that is over; its record has everything."""
        self.frames, self.beliefs = {}, {}
        self.log = EventLog()
        self.log.close()

    def _frame(self, message: Mapping[str, Any]) -> Json | None:
        number, everything = message["number"], message["all"]
        if number > len(self.frames.get(ALL, ())):
            return None  # it was on its way when a move was taken back
        self.status = "running"
        for place in [f"thought {role}" for role in self.setup.players]:
            self.log.clear(place)
        self.questions.clear()
        texts = {seat_of(role): seat_frame for role, seat_frame in message["seats"].items()}
        texts |= {ALL: everything, BOARD: {**everything, "decisions": {}, "values": {}}}
        for audience, frame in texts.items():
            frame["sent_s"] = time.time()
            sent_frames = self.frames.setdefault(audience, [])
            if number == len(sent_frames):
                sent_frames.append(json.dumps(frame))
                self.log.add(audience, "frame", sent_frames[-1])
        for role, picture in message["may"].items():
            self.beliefs.setdefault(role, {})[number] = json.dumps(picture)
        if number and self.preparing is not None:
            self._show_preparing(None)
        record: Json | None = message["record"]
        return record

    def _show_preparing(self, step: Json | None) -> None:
        self.preparing = step
        for audience in self._audiences():
            self.log.show(audience, "preparing", "preparing", step)

    def _ask(self, message: Mapping[str, Any]) -> None:
        role, clock_s = message["role"], message["clock_s"]
        if message["turn"] >= len(self.frames.get(ALL, ())):
            return  # as above
        until_s = None if clock_s is None else time.time() + clock_s
        self.questions[role] = {key: message[key] for key in ("turn", "moves")}
        self.questions[role]["until_s"] = until_s
        self.log.add(seat_of(role), "ask", self.question(role))
        self._show_waiting()

    def _show_waiting(self) -> None:
        waiting = {"for": sorted(self.questions)}
        for audience in self._audiences():
            self.log.show(audience, "waiting", "waiting", waiting)

    def _audiences(self) -> list[str]:
        return [ALL, BOARD, *map(seat_of, self.people)]

    # ---------------------------------------------------------------- requests of browsers

    def question(self, role: str) -> Json | None:
        """The open question to a person, with its deadline in seconds since 1970."""
        return self.questions.get(role)

    def result(self) -> Json:
        """How the match ended."""
        goals = self.setup.goals
        return {"goals": None if goals is None else dict(goals), "error": self.setup.error}

    def summary(self) -> Json:
        """Summary of the match for the lobby; it contains no secrets."""
        setup = self.setup
        is_open = self.is_over or not self.people or setup.is_told
        return {
            "id": setup.id,
            "game": setup.game,
            "players": dict(setup.players),
            "roles": list(setup.roles),
            # The seed would reveal the moves of chance.
            "seed": setup.seed if self.is_over or not self.people else None,
            "created_s": setup.created_s,
            "status": self.status,
            "open": is_open,
            "turns": self.turns if is_open else None,
            "shares_goals": setup.shares_goals,
            **self.result(),
        }

    def snapshot(self, audience: str, texts: Sequence[str]) -> Json:
        """Everything that an audience needs at first; later events are in the log.

        Args:
            texts: the frames of that audience.
        """
        frames = [json.loads(text) for text in texts]
        taken_back = [asdict(one) for one in self.setup.taken_back]
        fields: Json = {
            # The lobby must not have it: it names moves.
            "match": {**self.summary(), "taken_back": taken_back},
            "rules": {"is_told": self.setup.is_told, "shares_goals": self.setup.shares_goals},
            "about": asdict(describe(self.setup.rules)),
            "preparing": self.preparing,
            "clocks": {"play_s": self.setup.play_clock_s, "human_s": self.setup.human_clock_s},
            "turns": [{k: frame[k] for k in _BRIEF if k in frame} for frame in frames],
            "frame": frames[-1] if frames else None,
            "sees": audience,
            "last": self.log.last,
        }
        if audience.startswith("seat:"):
            role = audience.removeprefix("seat:")
            fields |= {"role": role, "ask": self.question(role)}
        return fields
