"""Matches as the Dresden GameController writes them: XML.

    <match>
      <match-id>...</match-id> <sight-of>RANDOM</sight-of>
      <role>xplayer</role> ... <player>...</player> ... <startclock>30</startclock>
      <history>
        <step> <step-number>1</step-number> <move>(MARK 1 1)</move> <move>NOOP</move> </step>
      </history>
      <scores> <reward>100</reward> ... </scores>
      <state> <fact> <prop-f>CELL</prop-f> <arg>1</arg> ... </fact> ... </state>
    </match>

There is a file for every state, with the moves before it, and `finalstate.xml`, which has scores.
In games of GDL-II there is a folder for every role, and only what chance saw (`sight-of` RANDOM)
has moves: a match of a game without the role `random` cannot be told from what is written.

A trace has all states and moves, but says neither who played nor when:

    <gametrace>
      <game>doors</game>
      <steps>
        <step nb="1">
          <state> <fluent>(car 3)</fluent> ... </state>
          <legal_moves> <move role="candidate">(choose 1)</move> ... </legal_moves>
          <moves> <move role="candidate">(choose 2)</move> ... </moves>
        </step>
        <step nb="2">
          <state> ... </state> <terminal/>
          <goal_values> <goal_value role="candidate">100</goal_value> ... </goal_values>
        </step>
      </steps>
    </gametrace>

The last step has no moves. If it is not terminal, the match was broken off there.
"""

from __future__ import annotations

from xml.etree import ElementTree

from ggp.errors import MatchError
from ggp.gdl.syntax.shape import MAX_NESTING
from match_runner.archives.archived import Archived, clock_of, finite


def read_xml(data: bytes) -> Archived:
    """What an XML file tells of a match.

    Raises:
        MatchError: it is not XML, or no match, or not one that has the moves of all roles.
    """
    if b"\0" in data:  # markup would hide in it from the next line
        raise MatchError("it is not UTF-8: convert it first")
    if b"<!ENTITY" in data:
        raise MatchError("it declares entities of its own, which no match needs")
    try:
        match = ElementTree.fromstring(data)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise MatchError(f"it is not XML: {error}") from error
    if match.tag == "gametrace":
        return _trace(match)
    steps = match.findall("history/step")
    roles = _all(match, "role")
    if match.find("herstory") is not None:
        raise MatchError("it is XML of ggp-base: import the JSON that is written beside it")
    if match.tag != "match" or not roles:
        raise MatchError(
            "it is no match of the Dresden GameController: it is neither a match with roles nor a "
            "gametrace"
        )
    moves = [_all(step, "move") for step in steps]
    if any(len(each) != len(roles) for each in moves):
        sight = match.findtext("sight-of", "one role").strip()
        raise MatchError(
            f"it holds what {sight} saw, not the moves of all roles; import the file for RANDOM, "
            "which games with the role random have"
        )
    facts = [_term(fact, 0) for fact in match.findall("state/fact")]
    rewards = [_number(text, "reward") for text in _all(match, "scores/reward")]
    return Archived(
        match_id=match.findtext("match-id", "").strip(),
        game="",
        roles=roles,
        players=_all(match, "player"),
        moves=moves,
        states={len(moves): facts} if facts else {},
        scores=rewards or None,
        lost={},
        times_s=(),
        start_clock_s=_clock(match, "startclock"),
        play_clock_s=_clock(match, "playclock"),
        scrambled=False,
        unfinished=None if rewards else "the match was not completed",
    )


def _trace(trace: ElementTree.Element) -> Archived:
    """What a trace tells of a match.

    Raises:
        MatchError: a step is missing or has no moves; says which.
    """
    steps = trace.findall("steps/step")
    if not steps:
        raise MatchError("it is a gametrace without steps")
    for number, step in enumerate(steps, start=1):
        if step.get("nb", "").strip() != str(number):
            raise MatchError(f"step {number} of the trace has the number {step.get('nb')!r}")
    last = steps[-1]
    moving = steps if last.find("moves") is not None else steps[:-1]
    joint = [_by_role(step, "moves/move") for step in moving]
    goals = _by_role(last, "goal_values/goal_value")
    roles = sorted(joint[0] if joint else goals)
    for number, moves in enumerate(joint, start=1):
        if sorted(moves) != roles:
            raise MatchError(f"step {number} of the trace lacks moves of roles that move elsewhere")
    if goals and sorted(goals) != roles:
        raise MatchError("the last step of the trace has goal values of other roles than move")
    is_over = last.find("terminal") is not None
    return Archived(
        match_id="",
        game=trace.findtext("game", "").strip(),
        roles=roles or None,
        players=(),
        moves=[[moves[role] for role in roles] for moves in joint],
        states={
            number: _all(step, "state/fluent")
            for number, step in enumerate(steps)
            if step.find("state") is not None
        },
        scores=[_number(goals[role], "goal_value") for role in roles if goals] or None,
        lost={},
        times_s=(),
        start_clock_s=None,
        play_clock_s=None,
        scrambled=False,
        unfinished=None if is_over else "the match was not completed",
    )


def _by_role(step: ElementTree.Element, path: str) -> dict[str, str]:
    """The texts of some elements, by the role that each is about."""
    found: dict[str, str] = {}
    for element in step.findall(path):
        role = element.get("role", "").strip()
        if role in found:
            raise MatchError(f"step {step.get('nb')} of the trace has two values for {role}")
        found[role] = (element.text or "").strip()
    return found


def _all(element: ElementTree.Element, path: str) -> list[str]:
    return [(each.text or "").strip() for each in element.findall(path)]


def _clock(match: ElementTree.Element, name: str) -> float | None:
    text = match.findtext(name)
    return None if text is None else clock_of(_number(text, name))


def _number(text: str, name: str) -> float:
    found = finite(text)
    if found is None:
        raise MatchError(f"{name} must be a number, not {text[:40]!r}")
    return found


def _term(element: ElementTree.Element, depth: int) -> str:
    """The term that a `fact` or `arg` stands for."""
    if depth > MAX_NESTING:
        raise MatchError(f"a fact nests deeper than {MAX_NESTING} terms")
    if not len(element):
        return (element.text or "").strip()
    name = (element[0].text or "").strip()
    args = [_term(arg, depth + 1) for arg in element[1:]]
    return f"({name} {' '.join(args)})" if args else name
