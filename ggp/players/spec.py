"""Player spec strings: `hyperplay2`, `hyperplay:n=16`, `hyperplay:particles=100,exact=0`.

Option values are whole numbers, but for `ties=random` and `ties=prompt`. Only `states` may be
several, one a turn: `states=900/400/50`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ggp.belief import DEFAULT_EXACT, MAX_ATTEMPTS
from ggp.errors import ConfigError
from ggp.search.estimates import Ties

_STATES = "states visited a decision, instead of counts; A/B/C for turn 1, 2, 3 and later"

_TIES = "moves of equal value: random (by lot), or prompt (early wins and late losses first)"

_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "legal": {},
    "random": {},
    "hyperplay": {
        "n": "resource index: n^2 particles, n^4 playouts a candidate",
        "particles": "particles of a sampled bag",
        "playouts": "playouts a candidate for each particle",
        "exact": "largest information set that is enumerated; 0 never",
        "states": _STATES,
        "ties": _TIES,
    },
    "hyperplay2": {
        "n": "resource index: n particles, n^2 simulations a candidate",
        "exact": "largest information set that is enumerated; 0 never",
        "states": _STATES,
        "ties": _TIES,
    },
}
"""Every player with its options."""

PLAYERS = tuple(_OPTIONS)

_DEFAULT_N = {"hyperplay": 8, "hyperplay2": 4}
_MAX_OPTION = 10**9
_BAG_OF_SIMPLE_PLAYERS = 16
_ATTEMPTS_OF_SIMPLE_PLAYERS = 10_000


@dataclass(frozen=True)
class PlayerSpec:
    """A player and its resources.

    Attributes:
        name: one of `PLAYERS`.
        text: the spec as given.
        particles: capacity of its own bag.
        trials: playouts (hyperplay) or simulations (hyperplay2) a candidate, without a clock.
        exact: largest information set that is enumerated.
        max_attempts: lanes stepped in search of particles where none is left.
        nested_particles: capacity of the bags of simulated roles.
        nested_playouts: playouts a candidate in decisions of simulated roles.
        states: states to visit for the decision of the first, second, ... turn of a match
            instead of making `trials`; the last counts for all later turns. Empty: no budget.
        ties: how it chooses among moves of equal value.
    """

    name: str
    text: str
    particles: int
    trials: int
    exact: int
    max_attempts: int = MAX_ATTEMPTS
    nested_particles: int = 0
    nested_playouts: int = 0
    states: tuple[int, ...] = ()
    ties: Ties = Ties.RANDOM


def parse_spec(text: str) -> PlayerSpec:
    """Read a player spec.

    Raises:
        ConfigError: unknown player or option, or a bad value; says what is possible.
    """
    name, _, rest = text.strip().partition(":")
    if name not in _OPTIONS:
        raise ConfigError(f"unknown player {name!r}; players: {', '.join(PLAYERS)}")
    given = _split_options(name, rest)
    options = {
        key: _whole_number(name, key, value)
        for key, value in given.items()
        if key not in ("states", "ties")
    }
    several = given["states"].split("/") if "states" in given else []
    states = tuple(_whole_number(name, "states", one) for one in several)
    ties = _ties(name, given.get("ties", Ties.RANDOM))
    _check_together(name, options, states)
    exact = options.get("exact", DEFAULT_EXACT)
    n = options.get("n", _DEFAULT_N.get(name, 0))
    if name == "hyperplay2":
        return PlayerSpec(
            name,
            text,
            n,
            n**2,
            exact,
            nested_particles=n,
            nested_playouts=n**2,
            states=states,
            ties=ties,
        )
    if name == "hyperplay":
        particles = options.get("particles", n**2)
        if "particles" in options or "playouts" in options:
            trials = particles * options.get("playouts", n**2)
        else:
            trials = n**4
        return PlayerSpec(name, text, particles, trials, exact, states=states, ties=ties)
    return PlayerSpec(
        name, text, _BAG_OF_SIMPLE_PLAYERS, 0, DEFAULT_EXACT, _ATTEMPTS_OF_SIMPLE_PLAYERS
    )


def _split_options(name: str, text: str) -> dict[str, str]:
    """The options as they are written; an empty value where there is none."""
    known = _OPTIONS[name]
    given: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        key, _, value = item.partition("=")
        if key not in known:
            possible = ", ".join(known) or "none"
            raise ConfigError(f"unknown option {key!r} of player {name}; options: {possible}")
        if key in given:
            raise ConfigError(f"option {key!r} of player {name} is given twice")
        given[key] = value
    return given


def _check_together(name: str, options: Mapping[str, int], states: tuple[int, ...]) -> None:
    if "n" in options and ("particles" in options or "playouts" in options):
        raise ConfigError(f"player {name}: give either n, or particles and playouts")
    if states and "playouts" in options:
        raise ConfigError(f"player {name}: give either playouts or states")
    if options.get("n", 0) > 100:
        raise ConfigError(f"player {name}: n must be at most 100; cost grows as its fourth power")


def _ties(name: str, value: str) -> Ties:
    try:
        return Ties(value)
    except ValueError:
        possible = " or ".join(f"ties={each}" for each in Ties)
        raise ConfigError(f"option 'ties' of player {name} must be {possible}") from None


def _whole_number(name: str, key: str, value: str) -> int:
    lowest = 0 if key == "exact" else 1
    if not value.isascii() or not value.isdigit():
        raise ConfigError(f"option {key!r} of player {name} needs a whole number: {key}=N")
    if not lowest <= int(value) <= _MAX_OPTION:
        raise ConfigError(
            f"option {key!r} of player {name} must be from {lowest} to {_MAX_OPTION}, not {value}"
        )
    return int(value)
