"""Players: each gets a role's moves and percepts, and returns its next move.

`player` is their interface, and `spec` their registry. Each player has a module with its options,
such as `random_legal`, `hyperplay` and `pimc`. Shared code is in rooms: `parts` has the base
classes, `options` the options that many players have, `choosing` picks the player that suits a
game, and `elsewhere` has decisions as JSON. `spiel_bot` is in the lab of OpenSpiel.
"""

from typing import TYPE_CHECKING

from ggp.launch import later

if TYPE_CHECKING:
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
        player_of,
        takes_states,
        with_option,
    )
else:
    __getattr__ = later(__name__, "player", "spec", "options.option_fields", "parts.search_player")

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
    "player_of",
    "takes_states",
    "whole",
    "wholes",
    "with_option",
    "words",
]
