"""Player spec strings: `hyperplay2`, `hyperplay:n=16`, `hyperplay:particles=100,exact=0`.

Option values are whole numbers. Only `states` may be several, one a turn: `states=900/400/50`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ggp.belief import DEFAULT_EXACT, MAX_ATTEMPTS
from ggp.errors import ConfigError

_STATES = "states visited a decision, instead of counts; A/B/C for turn 1, 2, 3 and later"

_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "legal": {},
    "random": {},
    "hyperplay": {
        "n": "resource index: n^2 particles, n^4 playouts a candidate",
        "particles": "particles of a sampled bag",
        "playouts": "playouts a candidate for each particle",
        "exact": "largest information set that is enumerated; 0 never",
        "states": _STATES,
    },
    "hyperplay2": {
        "n": "resource index: n particles, n^2 simulations a candidate",
        "exact": "largest information set that is enumerated; 0 never",
        "states": _STATES,
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
        options: those given that are a single number.
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
    options: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


def parse_spec(text: str) -> PlayerSpec:
    """Read a player spec.

    Raises:
        ConfigError: unknown player or option, or a bad value; says what is possible.
    """
    name, _, rest = text.strip().partition(":")
    if name not in _OPTIONS:
        raise ConfigError(f"unknown player {name!r}; players: {', '.join(PLAYERS)}")
    options, states = _parse_options(name, rest)
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
            options=options,
        )
    if name == "hyperplay":
        particles = options.get("particles", n**2)
        if "particles" in options or "playouts" in options:
            trials = particles * options.get("playouts", n**2)
        else:
            trials = n**4
        return PlayerSpec(name, text, particles, trials, exact, states=states, options=options)
    return PlayerSpec(
        name,
        text,
        _BAG_OF_SIMPLE_PLAYERS,
        0,
        DEFAULT_EXACT,
        _ATTEMPTS_OF_SIMPLE_PLAYERS,
        options=options,
    )


def _parse_options(name: str, text: str) -> tuple[Mapping[str, int], tuple[int, ...]]:
    """The options that are one number, and the budget of states."""
    known = _OPTIONS[name]
    options: dict[str, int] = {}
    states: tuple[int, ...] = ()
    for item in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = item.partition("=")
        if key not in known:
            possible = ", ".join(known) or "none"
            raise ConfigError(f"unknown option {key!r} of player {name}; options: {possible}")
        if key in options or (key == "states" and states):
            raise ConfigError(f"option {key!r} of player {name} is given twice")
        if key == "states":
            each = value.split("/")
            states = tuple(_whole_number(name, key, equals, one) for one in each)
        else:
            options[key] = _whole_number(name, key, equals, value)
    if "n" in options and ("particles" in options or "playouts" in options):
        raise ConfigError(f"player {name}: give either n, or particles and playouts")
    if states and "playouts" in options:
        raise ConfigError(f"player {name}: give either playouts or states")
    if options.get("n", 0) > 100:
        raise ConfigError(f"player {name}: n must be at most 100; cost grows as its fourth power")
    return MappingProxyType(options), states


def _whole_number(name: str, key: str, equals: str, value: str) -> int:
    lowest = 0 if key == "exact" else 1
    if not equals or not value.isascii() or not value.isdigit():
        raise ConfigError(f"option {key!r} of player {name} needs a whole number: {key}=N")
    if not lowest <= int(value) <= _MAX_OPTION:
        raise ConfigError(
            f"option {key!r} of player {name} must be from {lowest} to {_MAX_OPTION}, not {value}"
        )
    return int(value)
