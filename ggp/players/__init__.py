"""Players: a belief, a search and a clock make a move.

There is one file for each player, with its options, such as `random_legal`, `hyperplay` and `pimc`.
`player` is the interface of all of them, and `spec` the registry. What they share is in rooms:
`parts` has the classes they extend, `options` the options that many have, `choosing` finds the
player that suits a game, and `elsewhere` is for what other packages and processes have. `spiel_bot`
is in the lab of OpenSpiel.
"""

from ggp.players.options.option_fields import choice, whole, wholes, words
from ggp.players.parts.belief_player import BeliefPlayer
from ggp.players.parts.search_player import SearchOptions, SearchPlayer
from ggp.players.player import Choice, Context, Decision, MoveValue, Player
from ggp.players.spec import (
    PEERS,
    PLAYERS,
    PlayerInfo,
    PlayerSpec,
    blamed,
    check_game,
    describe_player,
    digests_of_files,
    kinds_of,
    known_players,
    make_player,
    parse_spec,
    takes_states,
    with_option,
)

__all__ = [
    "PEERS",
    "PLAYERS",
    "BeliefPlayer",
    "Choice",
    "Context",
    "Decision",
    "MoveValue",
    "Player",
    "PlayerInfo",
    "PlayerSpec",
    "SearchOptions",
    "SearchPlayer",
    "blamed",
    "check_game",
    "choice",
    "describe_player",
    "digests_of_files",
    "kinds_of",
    "known_players",
    "make_player",
    "parse_spec",
    "takes_states",
    "whole",
    "wholes",
    "with_option",
    "words",
]
