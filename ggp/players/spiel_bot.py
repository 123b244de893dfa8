"""OpenSpiel's own bots as players: `ggp.players.spiel_bot:OpenSpielBot`, from their lab."""

from ggp.labs.openspiel.spiel_bot import OpenSpielBot

__all__ = ["OpenSpielBot"]
