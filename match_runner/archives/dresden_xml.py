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
    steps = match.findall("history/step")
    roles = _all(match, "role")
    if match.find("herstory") is not None:
        raise MatchError("it is XML of ggp-base: import the JSON that is written beside it")
    if match.tag != "match" or not roles:
        raise MatchError("it is no match of the Dresden GameController: it has no roles")
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
