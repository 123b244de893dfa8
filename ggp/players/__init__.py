"""Players: belief, search and clock make a move."""

from ggp.players.base import Decision, MoveValue, Player
from ggp.players.players import make_player
from ggp.players.spec import PLAYERS, PlayerSpec, parse_spec

__all__ = ["PLAYERS", "Decision", "MoveValue", "Player", "PlayerSpec", "make_player", "parse_spec"]
