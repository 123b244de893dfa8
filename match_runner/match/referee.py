"""The referee: plays one match, and is the only one who knows the true state.

Players at their seats and a seed come in; a record goes out. In each turn the referee tells every
player its own move and percepts of the last turn, asks for a move, and makes the joint move. Errors
of a player become faults in the record and cost that player its move. `conditions` says how long
the referee waits for whom.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from ggp.errors import ConfigError, GGPError, MatchError, PlayerError
from ggp.gdl import canonical_term
from ggp.gdl.program import LEGAL, SEES
from ggp.gdl.source import printable
from ggp.gdl.terms import Signature
from ggp.machine.base import Machine, States
from ggp.players import Decision, Player
from ggp.players.player import Learning, ObservedTurn, Pondering, Preparing
from ggp.run.clocks import TellsTime, clock_of
from ggp.search.anytime import Deadline
from ggp.search.moves import is_legal, random_moves
from match_runner.match.apart import (
    GoneError,
    NoAnswerError,
    PlayerApart,
    RaisedApartError,
    states_visited,
    tell_turn,
)
from match_runner.match.conditions import (
    FIRST_ROLE_STREAM,
    REFEREE_STREAM,
    SCRAMBLER_STREAM,
    Conditions,
    stream,
)
from match_runner.match.records import Fault, MatchRecord, TurnRecord, as_number
from match_runner.match.seats import Arena
from match_runner.remote.remote_players import (
    MAX_SHOWN,
    RemotePlayers,
    check_clocks,
    new_match_id,
)
from match_runner.remote.wire import LastTurn, Replacement, place_in_rules

_log = logging.getLogger(__name__)


# ------------------------------------------------------------------------
# Guests, which answer in their own time, and watchers, which see the whole match.
#
# The referee asks the players of its process one after the other, each on the match's play clock.
# It invites a guest, such as a person, when a turn begins. The guest thinks while the others do,
# and keeps its own clock. If it gives no answer it loses its move, as a late player does.


class LeftError(MatchError):
    """A guest has left: the match ends here.

    Attributes:
        interrupted: whether it left by Ctrl-C; otherwise it quit, or its input ended.
        announced: whether it quit by a command.
    """

    def __init__(self, role: str, *, interrupted: bool = False, announced: bool = False) -> None:
        super().__init__(f"{role} left the match")
        self.interrupted, self.announced = interrupted, announced


@runtime_checkable
class Guest(Player, Protocol):
    """A player that the referee invites to move before it asks for the decision.

    `choose` gets no deadline. It waits for the answer, and raises `NoAnswerError` if none comes.
    """

    def invite(self, legal: Sequence[str]) -> None:
        """Begin a turn; the guest has observed the last one.

        Args:
            legal: the role's legal moves, sorted, canonical KIF.
        """
        ...


class Watcher(Protocol):
    """Sees a whole match, true states included, while it is played."""

    def reached(self, turn: TurnRecord | None, fluents: tuple[str, ...], *, over: bool) -> None:
        """Called with each state that the match reaches.

        Args:
            turn: the turn that led there; None for the initial state.
            fluents: fluents of the state, in canonical KIF.
            over: whether the state is terminal.
        """
        ...


# ------------------------------------------------------------------------
# The match.


def play_match(
    arena: Arena,
    seed: int,
    conditions: Conditions | None = None,
    *,
    counts: bool = True,
    watcher: Watcher | None = None,
    earlier: Sequence[TurnRecord] = (),
) -> MatchRecord:
    """Play one match to its end.

        >>> from ggp.machine.games import load_program
        >>> from match_runner.match.seats import set_up
        >>> arena = set_up("monty_hall", load_program("monty_hall"), {"candidate": "random"})
        >>> record = play_match(arena, seed=1)
        >>> record.goals, record.error
        ({'candidate': 100, 'random': 0}, None)

    An error of a player is recorded as a fault and costs it its move. An error of the game (a role
    without a legal move, no end within the limit of turns, a reasoner's limit) ends the match:
    `MatchRecord.error` says so, and the goals are those of the last state, None where the rules
    give none.

    Args:
        counts: whether the match counts: then players prepare for it and learn how it ended.
        watcher: sees every state as the match reaches it, the states of earlier turns too.
        earlier: turns of the same match that were played before; players observe them, and move
            from there on. Chance goes on as if the match had not been interrupted.

    Raises:
        ConfigError: remote players cannot be addressed under these conditions, or there are
            earlier turns, which they cannot observe.
    """
    if earlier and arena.remotes:
        raise ConfigError("a match with remote players cannot be continued: for them it is over")
    match = _Match(arena, seed, conditions or Conditions(), counts=counts, watcher=watcher)
    return match.play(earlier)


class _Match:
    """One match while it is played."""

    def __init__(
        self,
        arena: Arena,
        seed: int,
        conditions: Conditions,
        *,
        counts: bool,
        watcher: Watcher | None,
    ) -> None:
        self._arena, self._seed, self._conditions = arena, seed, conditions
        self._counts, self._watcher = counts, watcher
        self._machine: Machine = arena.machine
        self._rng = stream(seed, REFEREE_STREAM)
        self._state: States = self._machine.initial(1)
        self._players: dict[int, Player] = {}
        self._news: dict[int, ObservedTurn] = {}  # the last turn, for players in this process
        self._last_turns: dict[int, LastTurn] = {}
        self._turns: list[TurnRecord] = []
        self._times_s: list[float] = []
        self._faults: list[Fault] = []
        self._error: str | None = None
        self._is_left = False
        self._spare = SpareTime(arena.clock, self._conditions)
        self._remote: RemotePlayers | None = None
        if arena.remotes:
            self._remote = RemotePlayers(
                arena.program,
                arena.remotes,
                conditions.remote,
                check_clocks(conditions.play_clock_s),
                new_match_id(arena.game, conditions.remote),
                stream(seed, SCRAMBLER_STREAM),
            )

    def play(self, earlier: Sequence[TurnRecord]) -> MatchRecord:
        _log.info("match with seed %d begins", self._seed)
        is_complete, prepares = False, self._counts and not earlier
        try:
            for role, seat in self._arena.seats.items():
                player = seat.make(stream(self._seed, FIRST_ROLE_STREAM + role))
                self._players[role] = player
                if isinstance(player, PlayerApart):
                    player.begin(self._conditions.remote.start_clock_s, self._conditions.patience)
                elif prepares and (error := self._spare.prepare(player)):
                    self._fault(role, "raised", f"raised {shown_error(error)} at the start", error)
            if self._remote is not None:
                for role, trouble in self._remote.start().items():
                    self._fault(role, trouble.kind, trouble.text)
            self._reached(None)
            for turn in earlier:
                self._play_again(turn)
            while not self._machine.terminal(self._state)[0]:
                if len(self._turns) == self._conditions.max_turns:
                    self._error = f"the game did not end within {len(self._turns)} turns"
                    break
                self._play_turn()
            is_complete = self._error is None
            if is_complete and self._counts:
                self._tell_the_end()
        except GGPError as error:
            self._is_left = isinstance(error, LeftError)
            level = logging.INFO if self._is_left else logging.WARNING
            _log.log(level, "match with seed %d ends: %s", self._seed, error)
            self._error = str(error)
        finally:
            if self._remote is not None:
                end = self._remote.stop if is_complete else self._remote.abort
                end(len(self._turns), self._last_turns)
            for player_apart in self._players_apart():
                player_apart.leave()
        return self._record()

    def _players_apart(self) -> list[PlayerApart]:
        """The players in processes of their own."""
        return [player for player in self._players.values() if isinstance(player, PlayerApart)]

    def _play_turn(self) -> None:
        machine, roles = self._machine, range(len(self._machine.roles))
        for role in roles:
            machine.legal(self._state, role)  # raises if there is none
        time.sleep(self._conditions.pause_s)
        for player_apart in self._players_apart():
            player_apart.get_ready()  # before anybody's clock runs
        # Guests have clocks of their own, so they may begin to think before everybody else.
        guests = {r: p for r, p in self._players.items() if isinstance(p, Guest)}
        for role, guest in guests.items():
            self._tell(role, guest, None)
            legal = machine.legal(self._state, role)[0].tolist()
            guest.invite(tuple(sorted(map(machine.move_text, legal))))
        # Remote players first, then ours one by one: no clock runs while another player thinks in
        # this process.
        answers = self._ask_remote()
        non_guests = {r: p for r, p in self._players.items() if r not in guests}
        answers |= {role: self._ask(role, player) for role, player in non_guests.items()}
        answers |= {role: self._ask_guest(role, guest) for role, guest in guests.items()}
        for role, error in self._spare.ponder(non_guests) if self._counts else ():
            self._fault(role, "raised", f"raised {shown_error(error)} while it pondered", error)
        moves = [self._executed(role, answers.get(role)) for role in roles]
        news = self._step(moves)
        texts = tuple(move for move, _ in news)
        if self._remote is not None:
            self._last_turns = {
                role: LastTurn(move, tuple(sorted(seen, key=self._place(SEES, role))), texts)
                for role, (move, seen) in enumerate(news)
            }
        for role in self._players:
            answer = answers[role]
            self._news[role] = (*news[role], answer.submitted, answer.may_count)
        answers = dict(sorted(answers.items()))
        turn = TurnRecord(
            joint_move=dict(zip(machine.roles, texts, strict=True)),
            submitted={machine.roles[r]: a.submitted for r, a in answers.items()},
            percepts={name: seen for name, (_, seen) in zip(machine.roles, news, strict=True)},
            decisions={
                machine.roles[r]: a.decision for r, a in answers.items() if a.decision is not None
            },
            faults=tuple(sorted(self._faults, key=lambda f: machine.roles.index(f.role))),
        )
        self._faults = []
        self._reached(turn)

    def _play_again(self, turn: TurnRecord) -> None:
        """Play an earlier turn again."""
        machine = self._machine
        moves = []
        for role, name in enumerate(machine.roles):
            text = turn.joint_move[name]
            move = machine.move_id(text)
            if move is None or not is_legal(machine, self._state, role, np.array([move]))[0]:
                number = len(self._turns) + 1
                raise MatchError(f"turn {number} differs from the rules: {text} is not legal")
            moves.append(move)
            if name not in turn.submitted or was_replaced(turn, name):
                # The move was drawn then; drawing again keeps the generator in step.
                random_moves(machine, self._state, role, self._rng)
        for role, player in self._players.items():
            self._start_clock(player)
            self._tell(role, player, self._deadline(self._clock_of(player)))
        news = self._step(moves)
        for role in self._players:
            name = machine.roles[role]
            in_time = not any(f.role == name and f.kind == "late" for f in turn.faults)
            self._news[role] = (*news[role], turn.submitted.get(name), in_time)
        self._reached(turn)

    def _step(self, moves: list[int]) -> list[tuple[str, tuple[str, ...]]]:
        """Make a joint move; return the move and the percepts of every role."""
        machine = self._machine
        stepped = machine.step(self._state, np.array([moves], dtype=np.int64))
        self._state = stepped.states
        seen = [machine.percept_texts(int(p)) for p in stepped.percepts[0]]
        return list(zip(map(machine.move_text, moves), seen, strict=True))

    def _reached(self, turn: TurnRecord | None) -> None:
        """Note that the match reached the initial state, or the state after a turn."""
        self._times_s.append(time.time())
        if turn is not None:
            self._turns.append(turn)
        if self._watcher is not None:
            over = bool(self._machine.terminal(self._state)[0])
            self._watcher.reached(turn, self._machine.fluents(self._state)[0], over=over)

    def _ask_remote(self) -> dict[int, Answer]:
        """Ask all remote players together, and return their answers by role."""
        if self._remote is None:
            return {}
        answers = {}
        for role, answer in self._remote.ask(len(self._turns), self._last_turns).items():
            if answer.trouble is not None:
                self._fault(role, answer.trouble.kind, answer.trouble.text)
            text, decision = answer.submitted, None
            if text is not None:  # of its decision, only its move and its time are known
                decision = Decision(text, (), 0, False, 0, answer.seconds)
            answers[role] = Answer(text, decision, answer.trouble is None)
        return answers

    def _clock_of(self, player: Player) -> TellsTime:
        """The clock of a player; CPU time is that of the player's process."""
        return player.clock if isinstance(player, PlayerApart) else self._arena.clock

    def _deadline(self, clock: TellsTime) -> Deadline | None:
        """Deadline of a player whose clock starts now; None without a clock."""
        if self._conditions.play_clock_s is None:
            return None
        return Deadline(clock() + self._conditions.thinking_s, clock)

    def _start_clock(self, player: Player) -> None:
        """Start the clock of a player in a process of its own, which can be stopped."""
        if isinstance(player, PlayerApart):
            player.start_clock(self._conditions.play_clock_s)

    def _tell(self, role: int, player: Player, deadline: Deadline | None) -> None:
        """Have a player observe the last turn."""
        news = self._news.get(role)
        if news is None:
            return
        # A player may be anybody's code: any exception costs it its move, and no more.
        try:
            tell_turn(player, news, deadline)
        except (Exception, SystemExit) as error:
            self._fault(
                role, "raised", f"raised {shown_error(error)} when told of the last turn", error
            )

    def _ask_guest(self, role: int, guest: Guest) -> Answer:
        """Wait for the answer of an invited guest, which keeps its own time."""
        try:
            decision = guest.choose(None)
            return Answer(canonical_term(decision.move), decision)
        except NoAnswerError as error:
            self._fault(role, "late", str(error))
            return Answer(None, None, may_count=False)

    def _ask(self, role: int, player: Player) -> Answer:
        """Have a player observe the last turn and choose a move, on the same play clock."""
        clock = self._clock_of(player)
        began_s, began_on_the_wall_s = clock(), time.monotonic()
        self._start_clock(player)
        deadline = self._deadline(clock)
        self._tell(role, player, deadline)
        try:
            decision = player.choose(deadline)
            submitted = canonical_term(decision.move)
        except (NoAnswerError, PlayerError, GoneError) as error:
            kind = "late" if isinstance(error, NoAnswerError) else "raised"
            self._fault(role, kind, str(error))
            return Answer(None, None, may_count=False)
        except (Exception, SystemExit) as error:
            self._fault(role, "raised", f"raised {shown_error(error)} when asked to move", error)
            return Answer(None, None, may_count=False)
        if decision.fault is not None:
            self._fault(role, "fallback", f"played a fallback: {one_line(decision.fault)}")
        took_s = self._spare.took_s[role] = clock() - began_s
        late = self._conditions.how_late(
            clock_of(self._arena.clock), took_s, time.monotonic() - began_on_the_wall_s
        )
        if late is not None:
            self._fault(role, "late", f"answered {submitted} after {late}")
        return Answer(submitted, decision, late is None)

    def _tell_the_end(self) -> None:
        """Tell players that learn how the match ended; errors here are not faults of the match."""
        goals = self._goals()
        for role, player in self._players.items():
            news = self._news.get(role)
            if news is None or not isinstance(player, Learning):
                continue
            try:
                player.ended(*news[:2], goals[self._machine.roles[role]])
            except (Exception, SystemExit) as error:
                trouble = f"{self._machine.roles[role]} raised {shown_error(error)}"
                _log.warning("%s when told of the end", trouble)

    def _executed(self, role: int, answer: Answer | None) -> int:
        """The move to play: the submitted one if it is in time and legal, else a legal one."""
        machine = self._machine
        if answer is not None and answer.may_count and answer.submitted is not None:
            move = machine.move_id(answer.submitted)
            if move is not None and is_legal(machine, self._state, role, np.array([move]))[0]:
                return move
            text = clipped(answer.submitted)
            self._fault(role, "illegal", f"submitted {text}, which is not legal")
        if answer is not None and self._conditions.replacement is Replacement.FIRST:
            place, legal = self._place(LEGAL, role), machine.legal(self._state, role)[0].tolist()
            return int(min(legal, key=lambda move: place(machine.move_text(move))))
        return int(random_moves(machine, self._state, role, self._rng)[0])

    def _place(self, relation: Signature, role: int) -> Callable[[str], int]:
        return place_in_rules(self._arena.program, relation, self._machine.roles[role])

    def _fault(self, role: int, kind: str, text: str, error: BaseException | None = None) -> None:
        fault = Fault(len(self._turns), self._machine.roles[role], kind, text)
        self._faults.append(fault)
        _log.info("match with seed %d, %s", self._seed, fault)
        if error is not None:
            _log.debug("raised by the player of %s", fault.role, exc_info=error)

    def _record(self) -> MatchRecord:
        machine, arena = self._machine, self._arena
        goals = self._goals()
        visited = dict.fromkeys(machine.roles, 0)
        for role, player in self._players.items():
            visited[machine.roles[role]] = states_visited(player)
        return MatchRecord(
            game=arena.game,
            digest=arena.program.digest,
            backend=machine.backend,
            seed=self._seed,
            play_clock_s=self._conditions.play_clock_s,
            roles=machine.roles,
            players=arena.players,
            turns=tuple(self._turns),
            goals=goals,
            states_visited=visited,
            error=None if self._error is None else one_line(self._error),
            remote=None if self._remote is None else self._remote.side,
            times_s=tuple(self._times_s),
            rules=arena.program.source.text,
            clock=clock_of(arena.clock),
        )

    def _goals(self) -> dict[str, float | None]:
        roles = self._machine.roles
        if self._is_left:
            return dict.fromkeys(roles)
        try:
            values = self._machine.goals(self._state)[0].tolist()
        except GGPError as error:
            self._error = self._error or str(error)
            return dict.fromkeys(roles)
        return dict(zip(roles, map(as_number, values), strict=True))


# ------------------------------------------------------------------------
# Answers of players in the form that the referee uses: a move or an error, of bounded length.


@dataclass(frozen=True, slots=True)
class Answer:
    """A player's answer, or the lack of one.

    Attributes:
        submitted: the move, in canonical KIF if it is a term; None without an answer.
        decision: None without an answer.
        may_count: false for an answer that is late or is not a move.
    """

    submitted: str | None
    decision: Decision | None
    may_count: bool = True


def was_replaced(turn: TurnRecord, role: str) -> bool:
    """Whether the referee drew a role's move instead of using the submitted one."""
    if turn.submitted[role] != turn.joint_move[role]:
        return True
    return any(fault.role == role and fault.kind == "late" for fault in turn.faults)


def clipped(move: str) -> str:
    """A move from anybody, on one line of bounded length."""
    line = printable(move)
    return line if len(line) <= MAX_SHOWN else f"{line[:MAX_SHOWN]}..."


def shown_error(error: BaseException) -> str:
    """A player's exception on one line, with its type."""
    if isinstance(error, RaisedApartError):
        return one_line(str(error))
    return f"{type(error).__name__}: {one_line(str(error))}"


def one_line(text: str) -> str:
    """A text with one space for each run of white space, line breaks included."""
    return " ".join(text.split())


# ------------------------------------------------------------------------
# Spare time: the start clock, and the time in which a player waits for slower ones.
#
# Players of this process think one after the other, so that no clock runs while another player
# thinks. Pondering must give each the time that it would have had if all had thought at the same
# moment: afterwards, a player gets the difference between the slowest other player's time (at most
# the play clock) and its own:
#
# white   |--------- decides ---------|
#     black   | noop |- - - ponders - - - |    afterwards, on its own clock

MIN_S = 0.001
"""Least spare time that is worth a call, in seconds."""


@dataclass
class SpareTime:
    """The spare time of one match.

    Attributes:
        clock: clock of the players in this process.
        took_s: time of each role's player in this turn, on its clock.
    """

    clock: TellsTime
    conditions: Conditions
    took_s: dict[int, float] = field(default_factory=dict)

    def prepare(self, player: Player) -> BaseException | None:
        """Let a player prepare on the start clock, if the conditions allow it and the player can.

        Returns:
            the player's exception, or None.
        """
        start_s = self.conditions.preparing_s
        if not start_s:
            return None
        deadline = Deadline(self.clock() + start_s, self.clock)
        error = _let_think(player.prepare, deadline) if isinstance(player, Preparing) else None
        if self.conditions.ponder and isinstance(player, Pondering) and error is None:
            error = _let_think(player.ponder, deadline)
        return error

    def ponder(self, players: Mapping[int, Player]) -> Iterator[tuple[int, BaseException]]:
        """Let players ponder; yield the role and the exception of each player that raised one."""
        took_s, self.took_s = self.took_s, {}
        if not self.conditions.ponder or self.conditions.play_clock_s is None:
            return
        for role, player in players.items():
            others_s = max((s for rival, s in took_s.items() if rival != role), default=0.0)
            # A turn ends with the play clock, even if an answer comes later.
            spare_s = min(others_s, self.conditions.play_clock_s) - took_s.get(role, 0.0)
            if spare_s < MIN_S or not isinstance(player, Pondering):
                continue
            error = _let_think(player.ponder, Deadline(self.clock() + spare_s, self.clock))
            if error is not None:
                yield role, error


def _let_think(think: Callable[[Deadline], None], deadline: Deadline) -> BaseException | None:
    """Let a player think until a deadline; return its exception, or None."""
    try:
        think(deadline)
    except (Exception, SystemExit) as error:
        return error
    return None
