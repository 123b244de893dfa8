"""Players: a belief, a search and a clock make a move.

One file per player, with its options, such as `random_legal`, `hyperplay` and `pimc`. Their common
parts are in `belief_player` and `search_player`; `spec` has the registry.
"""

from ggp.players.belief_player import BeliefPlayer, Choice
from ggp.players.option_fields import choice, whole, wholes, words
from ggp.players.player import Context, Decision, MoveValue, Player
from ggp.players.search_player import SearchOptions, SearchPlayer
from ggp.players.spec import (
    PEERS,
    PLAYERS,
    PlayerInfo,
    PlayerSpec,
    check_game,
    describe_player,
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
    "check_game",
    "choice",
    "describe_player",
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
