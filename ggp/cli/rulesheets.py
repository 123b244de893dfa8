"""`ggp validate`, `ggp info` and `ggp convert`: commands about rulesheets.

They read a rulesheet and print its problems, its facts, or the same game in another form.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ggp.cli.arguments import (
    GameOptions,
    counted,
    game_argument,
    game_command,
    hint_at_warnings,
    open_game,
)
from ggp.cli.solving import time_option, turns_option
from ggp.console import (
    EXIT_BAD_INPUT,
    EXIT_FAILED,
    bar_of,
    example,
    is_verbose,
    print_json,
    show_diagnostics,
    show_error,
    show_failure,
    spinner,
    verbose_option,
)
from ggp.errors import ConfigError, GDLError, GGPError, MachineError
from ggp.gdl import print_sheet, read_rulesheet
from ggp.gdl.analysis.dependencies import may_unify
from ggp.gdl.analysis.frames import Frames
from ggp.gdl.analysis.growth import growing_term, with_growth
from ggp.gdl.elsewhere import ENGINES, GAMECONTROLLER, GGP_BASE, ROWS
from ggp.gdl.normalize import normalize
from ggp.gdl.normalize import validate as diagnosed
from ggp.gdl.program import Program
from ggp.gdl.source import Diagnostic, Rulesheet, Severity, diagnose, errors, gravest, printable
from ggp.gdl.syntax.parser import parse_term
from ggp.library.solved import explaining_growth
from ggp.machine import Limits, Machine
from ggp.machine.base import is_open
from ggp.machine.definition import GameDefinition
from ggp.machine.games import has_rulesheet, load_program
from ggp.machine.on_circuit import on_circuit
from ggp.machine.propnet.compile.circuits import foresee, hopeless
from ggp.registry import Registry
from ggp.report import Report, Table
from ggp.search.moves import MoveLists
from ggp.solve import build_tree, efg_lines
from ggp.study.matches import LaneTurn
from ggp.study.other_engines import circle, hinted, unhinted
from ggp.study.rehearsal import (
    ERRORS,
    MatchBeginning,
    Rehearsal,
    RehearsalLimits,
    Trouble,
    matches_in,
    rehearse,
)

if TYPE_CHECKING:
    _Choice = click.Choice[str]
else:  # generic only since click 8.2
    _Choice = click.Choice


# ------------------------------------------------------------------------
# `ggp validate --play`: random matches, and the faults of the game that they reveal.

MAX_PLAYED = 100_000

_MAX_TURNS = 12
"""Number of turns of a history that are shown, counted from the end; JSON has all."""

_MAX_MOVES = 8


def rehearsed(
    options: GameOptions, matches: int, limits: RehearsalLimits
) -> tuple[Rehearsal, Program]:
    """Play random matches of a game, with a progress bar; returns their results, and its rules."""
    definition, machine, _ = options.open(hints=False, stuck=True)
    program = definition.as_program()
    with bar_of(matches_in(machine, matches), f"playing {options.game}") as advance:
        rehearsal = rehearse(
            machine,
            matches,
            options.seed,
            frames=Frames(program) if has_rulesheet(options.game) else None,
            count_matches=advance,
            count_turns=lambda turns: advance(0, now=f"turn {turns + 1}"),
            limits=limits,
        )
    troubles = (
        replace(trouble, message=with_growth(trouble.message, program))
        if trouble.kind == "endless"
        else trouble
        for trouble in rehearsal.troubles
    )
    return replace(rehearsal, troubles=tuple(troubles)), program


def is_wrong(rehearsal: Rehearsal, *, strict: bool) -> bool:
    """Whether a game is faulty: unplayable, or, if strict, with any trouble."""
    return any(strict or trouble.kind in ERRORS for trouble in rehearsal.troubles)


def diagnosed_play(rehearsal: Rehearsal, program: Program, *, strict: bool) -> Iterator[Diagnostic]:
    """Yield each trouble of random matches with its place in the rules; if strict, as an error."""
    for trouble in rehearsal.troubles:
        severity: Severity = "error" if strict or trouble.kind in ERRORS else "warning"
        prefix = "" if trouble.role is None else f"{trouble.role}: "
        times = ""
        if trouble.kind not in ("unknowable", "no-frame"):  # not searched for in all matches
            times = " (1 match)" if trouble.matches == 1 else f" ({trouble.matches:,} matches)"
        growth = growing_term(program.rules) if trouble.kind == "endless" else None
        heads = [growth.rule.head] if growth else map(parse_term, trouble.heads)
        places = (
            rule.start for head in heads for rule in program.rules if may_unify(head, rule.head)
        )
        message = f"{prefix}{trouble.message}{times}"
        yield diagnose(program.source, severity, trouble.kind, message, next(places, -1))


def rehearsal_parts(
    game: str, rehearsal: Rehearsal, diagnostics: Iterable[Diagnostic]
) -> Iterator[Table | Diagnostic | str]:
    """Yield the troubles, each with its diagnostic, and the figures of random matches."""
    yield ""
    for trouble, diagnostic in zip(rehearsal.troubles, diagnostics, strict=True):
        yield diagnostic
        yield from _trouble_lines(trouble)
        yield ""
    plural = "match" if rehearsal.matches == 1 else "matches"
    line = f"{game}: {rehearsal.matches:,} random {plural}, {rehearsal.ended:,} ended"
    if rehearsal.ended:
        line += (
            f", after {rehearsal.shortest} to {rehearsal.longest} turns (mean "
            f"{rehearsal.mean_turns:.1f}); {rehearsal.chance_moves:.1f} chance moves per match"
        )
    yield line
    rows = [
        (role, figures.most_moves, figures.mean, figures.lowest, figures.highest)
        for role, figures in rehearsal.roles.items()
    ]
    scores = (("#mean score", ".1f"), ("#lowest", ".1f"), ("#highest", ".1f"))
    yield Table(("role", "#most moves", *scores), rows)
    yield f"seed {rehearsal.seed}, on {rehearsal.backend}"


def _trouble_lines(trouble: Trouble) -> Iterator[str]:
    """The matches that show a trouble, as lines of text."""
    if trouble.kind != "unknowable":
        yield from _history_lines(trouble.histories[0])
        return
    yield "  it knows its move / percepts of each turn:"
    yield from (f"    {turn}" for turn in _last(trouble.knows))
    for history in trouble.histories:
        yield "  but after"
        yield from _history_lines(history, besides=trouble.role)
        twin = next(h for h in trouble.histories if h is not history)
        only = [move for move in history.legal if move not in twin.legal]
        suffix = "" if len(only) in (0, len(history.legal)) else f"; only here: {_some_of(only)}"
        yield f"    it may {_some_of(history.legal)}{suffix}"


def _history_lines(history: MatchBeginning, besides: str | None = None) -> Iterator[str]:
    """The last joint moves of a history, without those of one role."""
    if not history.joint_moves:
        yield "    at the start"
    lines = [
        ", ".join(f"{role} {move}" for role, move in moves.items() if role != besides)
        for moves in history.joint_moves
    ]
    yield from (f"    {line}" for line in _last(lines))


def _last(lines: Sequence[str]) -> Iterator[str]:
    earlier = max(0, len(lines) - _MAX_TURNS)
    if earlier:
        yield f"({earlier} earlier turns; --json prints all)"
    for number, line in enumerate(lines[earlier:], earlier + 1):
        yield f"{number}. {line}"


def _some_of(moves: tuple[str, ...] | list[str]) -> str:
    if not moves:
        return "nothing"
    return ", ".join(moves[:_MAX_MOVES]) + (", ..." if len(moves) > _MAX_MOVES else "")


_SHOWN_FIELDS = ("severity", "rule", "message", "line", "column", "context")


@game_command("ggp validate my_game.gdl --play 100", seed="the random matches", of_one=False)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--strict", is_flag=True, help="Require the letter of the specification.")
@click.option(
    "--for",
    "engines",
    type=click.Choice(ENGINES),
    multiple=True,
    help="Also warn of rules that this engine reads differently. May be repeated.",
)
@click.option(
    "--play",
    "matches",
    type=click.IntRange(min=1, max=MAX_PLAYED),
    metavar="N",
    help="Also play N random matches of each sheet without errors, and report what goes wrong.",
)
@turns_option("With --play: turns after which a match counts as endless.")
@time_option("With --play: most seconds for the matches of each sheet.")
def validate(
    options: GameOptions,
    files: tuple[str, ...],
    strict: bool,
    engines: tuple[str, ...],
    matches: int | None,
    max_turns: int,
    max_seconds: float,
) -> int:
    """Check rulesheets or Gambit files, and report every problem.

    Mistakes that can be repaired are warnings, and so are rules that the fast backend will fail to
    ground. With --strict, they are errors, and so are conditions that no author can have meant,
    such as a `true` that never holds. --strict and --for ggp-base also play a few matches, to find
    what `base` and `input` leave out. Exits with 1 if there is an error, with 2 if a file cannot be
    read.

    --play finds roles without a legal move, matches that do not end, goals that are missing,
    multiple or wrong, fluents that seem to lack a frame rule, and legal moves that a role cannot
    know from its moves and percepts.
    """
    code = 0
    sheets: list[dict[str, Any]] = []
    for file in files:
        try:
            diagnostics = _diagnose(replace(options, game=file), strict, engines)
        except ConfigError as error:
            code = EXIT_BAD_INPUT
            show_error(str(error))
            diagnostics = (Diagnostic("error", "unreadable", str(error), file, 0, 0, ""),)
        else:
            if errors(diagnostics):
                code = code or EXIT_FAILED
            if not options.as_json:
                _show(diagnostics)
                click.echo(f"{printable(file)}: {counted(diagnostics)}")
        sheet: dict[str, Any] = {
            "file": file,
            "ok": not errors(diagnostics),
            "diagnostics": [{k: asdict(d)[k] for k in _SHOWN_FIELDS} for d in diagnostics],
        }
        if matches is not None and sheet["ok"]:
            limits = RehearsalLimits(max_turns, max_seconds)
            try:
                rehearsal, program = rehearsed(replace(options, game=file), matches, limits)
            except GGPError as error:  # rules that loop or explode
                show_failure(error)
                code, sheet["ok"] = code or EXIT_FAILED, False
                sheet["play"] = {"error": str(error)}
            else:
                if is_wrong(rehearsal, strict=strict):
                    code, sheet["ok"] = code or EXIT_FAILED, False
                found = list(diagnosed_play(rehearsal, program, strict=strict))
                sheet["play"] = rehearsal.to_json()
                for trouble, place in zip(sheet["play"]["troubles"], found, strict=True):
                    trouble |= {"line": place.line, "column": place.column}
                if not options.as_json:
                    options.show(Report(sheet["play"], rehearsal_parts(file, rehearsal, found)))
        sheets.append(sheet)
    if options.as_json:
        print_json(sheets)
    return code


def _show(diagnostics: Sequence[Diagnostic]) -> None:
    """Print the problems of a rulesheet; only the gravest of many, unless with --verbose."""
    listed = diagnostics if is_verbose() else gravest(diagnostics)
    show_diagnostics(listed, err=False)
    if len(listed) < len(diagnostics):
        click.echo(f"{len(diagnostics) - len(listed):,} more; --verbose shows them")


def _diagnose(
    options: GameOptions, strict: bool, engines: tuple[str, ...]
) -> tuple[Diagnostic, ...]:
    try:
        if not has_rulesheet(options.game):
            return load_program(options.game).diagnostics
        sheet = read_rulesheet(options.game)
        diagnostics = diagnosed(sheet, strict=strict, engines=engines)
    except GDLError as error:
        return error.diagnostics
    if not errors(diagnostics):
        diagnostics += warnings_of(sheet, options.limits)
        if strict or GGP_BASE in engines:
            diagnostics += _unhinted(options, sheet, strict=strict)
    if GAMECONTROLLER in engines and not errors(diagnostics):
        diagnostics += _in_circles(sheet)
    return diagnostics


def _unhinted(options: GameOptions, sheet: Rulesheet, *, strict: bool) -> tuple[Diagnostic, ...]:
    """What `base` and `input` leave out; nothing if the rules do not allow to tell."""
    try:
        hints = hinted(sheet)
        machine = options.open(hints=False, stuck=True).machine if hints else None
        missing = unhinted(machine, hints, options.seed) if machine is not None else {}
    except GGPError as error:
        _log.info("whether base and input are complete is unknown: %s", error)
        return ()
    severity: Severity = "error" if strict else "warning"
    view = ROWS["hints"].engines[GGP_BASE]
    return tuple(
        diagnose(
            sheet.source,
            severity,
            "hints" if strict else "for-hints",
            f"`{name}` lacks {fact}, which play reaches: {GGP_BASE}: {view}; write {fact} too",
            next(rule.start for rule in sheet.rules if rule.head.name == name),
        )
        for name, fact in missing.items()
    )


def _in_circles(sheet: Rulesheet) -> tuple[Diagnostic, ...]:
    """Recursion in a circle; nothing if the rules do not allow to tell."""
    try:
        found = circle(sheet)
    except GGPError as error:
        _log.info("whether recursion runs in circles is unknown: %s", error)
        return ()
    if found is None:
        return ()
    message = ROWS["circle"].warning([GAMECONTROLLER])
    return (diagnose(sheet.source, "warning", "for-circle", message, found.start),)


@game_command("ggp info kuhn_poker", seed=None)
def info(options: GameOptions) -> None:
    """Show the roles of a game, its size and its backend.

    The number of ground rules, and the rules that most of them come from, are estimates. A game
    without rules, as those of OpenSpiel are, is described by who moves when in random matches.

    --verbose also shows how each pass shrank the circuit of the propositional network.
    """
    opened = options.open(plays=False)
    values = _describe(opened.program, opened.machine)
    values |= expected_json(opened.program, options.limits)
    values["build_s"] = round(opened.build_s, 4)
    if is_verbose():
        values["circuit"] = describe_circuit(opened.machine)
    options.show(Report(values, _parts(values, opened.program.source.name)))


def _parts(values: Mapping[str, Any], source: str) -> Iterator[Table]:
    """Yield tables of a game's properties, its most expensive rules, and its circuit."""
    elsewhere = ("legal_moves", "costly_rules", "ground_rules_by_relation", "circuit")
    rows = [
        (name.replace("_", " "), " ".join(map(str, value)) if isinstance(value, list) else value)
        for name, value in values.items()
        if name not in elsewhere and value is not None
    ]
    moves = values["legal_moves"].items()
    rows += [(f"legal moves of {role} at the start", num) for role, num in moves]
    yield Table(("property", "value"), [(name, str(value)) for name, value in rows])
    if costly := values["costly_rules"]:
        yield Table(
            (("ground rules", ","), "where", "rule"),
            [
                (rule["ground_rules"], f"{source}:{rule['line']}:{rule['column']}", rule["rule"])
                for rule in costly
            ],
        )
    if circuit := values.get("circuit"):
        sizes = [(k.replace("_", " "), v) for k, v in circuit.items() if isinstance(v, int)]
        yield Table(("circuit", "#number"), sizes)
        head = ("evaluated together", ("#gates", ","), ("#literals", ","))
        yield Table(
            head, [(cone["name"], cone["gates"], cone["literals"]) for cone in circuit["cones"]]
        )
        titles = (("#gates", ","), ("#after", ","), ("#literals", ","), ("#after", ","))
        passes = [
            (step["name"], *(step[k] for k in _COUNTS), step["seconds"])
            for step in circuit["passes"]
        ]
        yield Table(("pass", *titles, ("#seconds", ".3f")), passes)


_COUNTS = ("gates_before", "gates_after", "literals_before", "literals_after")


def _describe(program: GameDefinition, machine: Machine) -> dict[str, Any]:
    start, rules = machine.initial(), program.as_program()
    if rules.rules:
        about: dict[str, Any] = {
            "language": "GDL-II" if rules.is_gdl2 else "GDL",
            "rules": sum(bool(rule.body) for rule in rules.rules),
            "facts": sum(not rule.body for rule in rules.rules),
            "relations": len(rules.by_head),
            "static_relations": len(rules.static),
            "recursive_relations": len(rules.recursive),
            "initial_fluents": len(machine.fluents(start)[0]),
        }
    else:
        about = _matches_in_words(program, machine)
    return {
        "game": program.source.name,
        "roles": list(program.roles),
        **about,
        "warnings": len(program.diagnostics),
        "legal_moves": {
            role: int(MoveLists(machine, start, role_id).counts[0])
            for role_id, role in enumerate(machine.roles)
        },
        "digest": program.digest,
        "backend": machine.backend,
    }


def _matches_in_words(program: GameDefinition, machine: Machine) -> dict[str, Any]:
    """How a game without rules is played, as the first turns of random matches show it."""
    states, rng = machine.initial(_WATCHED), np.random.default_rng(0)
    has_begun = np.zeros(_WATCHED, dtype=np.bool_)
    first, together, chance = set[str](), set[bool](), 0
    for number in range(_WATCHED_TURNS + 1):
        going = np.flatnonzero(~machine.terminal(states))
        if not len(going) or number == _WATCHED_TURNS:
            break
        states, has_begun = states.take(going), has_begun[going]
        turn = LaneTurn(machine, states)
        if machine.random_role is not None:
            chance += int((turn.counts[:, machine.random_role] > 1).sum())
        acts = turn.decides.any(axis=1)
        for row in np.unique(turn.decides[acts & ~has_begun], axis=0):
            first.add(" and ".join(np.array(machine.roles)[row]))
        has_begun |= acts
        together |= set((turn.decides[acts].sum(axis=1) > 1).tolist())
        states = machine.step(states, turn.random(rng)).states
    description = program.describe()
    return {
        "title": description.title,
        "chooses_first": " or ".join(sorted(first)) or "nobody",
        "players_choose": " or ".join("at once" if x else "in turns" for x in sorted(together)),
        "chance": f"{chance / _WATCHED:g} of the first {number} turns" if chance else "none",
        "information": "perfect" if is_open(machine) else "imperfect",
        "about": description.text or None,
    }


_WATCHED, _WATCHED_TURNS = 10, 100
"""Number and length of the random matches that describe a game without rules."""


EXPORTS: Registry[Callable[[GameDefinition, Machine], str]] = Registry("ggp.exports", "export")
"""Forms of games that installed packages can write: functions of a game and its circuit machine."""


class _Forms(_Choice):
    """The forms of `--to`; installed packages are searched only when the forms are read."""

    def __init__(self) -> None:
        super().__init__(())

    @property
    def choices(self) -> tuple[str, ...]:
        return ("kif", "infix", "efg", *EXPORTS)

    @choices.setter
    def choices(self, none: tuple[str, ...]) -> None:
        pass  # click sets the empty choices from `__init__`


@click.command(epilog=example("ggp convert my_game.gdl --to infix"))
@game_argument()
@click.option(
    "--to",
    "form",
    type=_Forms(),
    required=True,
    help="kif, infix: a syntax of rules; efg: the tree of a small game, for Gambit and OpenSpiel; "
    "jax: a module of pure functions that play the game and need only jax and numpy.",
)
@click.option(
    "--comments/--no-comments",
    default=None,
    help="Keep the comments of a rulesheet, and thus its description.  [default: keep in KIF, not "
    "in infix syntax, where some programs cannot read them]",
)
@verbose_option
def convert(game: str, form: str, comments: bool | None) -> None:
    """Print a rulesheet in another form."""
    if form == "efg":
        _print_tree(game)
        return
    if form in EXPORTS:
        opened = open_game(game, "propnet")
        click.echo(EXPORTS[form](opened.program, opened.machine).encode(), nl=False)
        return
    if not has_rulesheet(game):
        raise ConfigError(
            f"{game} has no rulesheet to convert; --to efg prints the tree of a small game"
        )
    sheet = read_rulesheet(game)
    hint_at_warnings(game, sheet.diagnostics)
    keep = form == "kif" if comments is None else comments
    text = print_sheet(sheet, "kif" if form == "kif" else "infix", comments=keep)
    click.echo(text.encode(), nl=False)


def _print_tree(game: str) -> None:
    opened = open_game(game, "auto")
    with spinner(f"playing {game} out"), explaining_growth(opened.program):
        # All lines are made before the first is printed: too large a tree prints nothing.
        lines = list(efg_lines(build_tree(opened.machine, keep_layers=True), Path(game).stem))
    for line in lines:
        click.echo(line.encode())


def describe_circuit(machine: Machine) -> dict[str, Any] | None:
    """Numbers of gates and literals of a circuit, its cones and passes; None without a circuit."""
    if not on_circuit(machine):
        return None
    circuit = machine.circuit
    return {
        "fluents": len(circuit.fluents),
        "constant_fluents": len(circuit.constant),
        "moves": sum(len(outputs.names) for outputs in circuit.legal),
        "gates": circuit.num_gates,
        "literals": circuit.num_literals,
        "loops": len(circuit.loops),
        "cones": machine.cones(),
        "passes": [
            {**report._asdict(), "seconds": round(report.seconds, 4)} for report in machine.reports
        ],
    }


# ------------------------------------------------------------------------
# The forecast of grounding a game, for `ggp info` and `ggp validate`.

_log = logging.getLogger(__name__)

TOO_MANY = "too-many-ground-rules"
"""Name of the warning."""

_FIELDS = ("ground_rules", "expected_to_ground", "ground_rules_by_relation", "costly_rules")


def expected_json(program: GameDefinition, limits: Limits) -> dict[str, Any]:
    """The expected numbers of ground rules: in all, by relation, and of the most expensive rules.

    All are None if the forecast fails or the game has no rules.
    """
    rules = program.as_program()
    if not rules.rules:
        return dict.fromkeys(_FIELDS)
    try:
        forecast = foresee(rules, limits)
    except MachineError as error:
        _log.info("the number of ground rules is unknown: %s", error)
        return dict.fromkeys(_FIELDS)
    costly = []
    for rule in forecast.costly:
        line, column = program.source.position(rule.start)
        count = round(rule.ground_rules)
        costly.append({"rule": rule.rule, "line": line, "column": column, "ground_rules": count})
    by_relation = {name: round(count) for name, count in forecast.relations.items()}
    values = (round(forecast.rules), forecast.verdict(limits), by_relation, costly)
    return dict(zip(_FIELDS, values, strict=True))


def warnings_of(rulesheet: Rulesheet, limits: Limits) -> tuple[Diagnostic, ...]:
    """A warning about the most expensive rule, if grounding is expected to fail."""
    try:
        forecast = hopeless(normalize(rulesheet), limits)
    except (GDLError, MachineError) as error:
        _log.info("the number of ground rules is unknown: %s", error)
        return ()
    if forecast is None or not forecast.costly:
        return ()
    worst = forecast.costly[0]
    message = (
        f"this rule is expected to become {worst.ground_rules:,.0f} of {forecast.rules:,.0f} "
        "ground rules, too many for the fast backend: the game will run on slower Prolog"
    )
    return (diagnose(rulesheet.source, "warning", TOO_MANY, message, worst.start),)
