"""Comparing players: many matches in worker processes, stored as they end, with intervals.

`plan` says which matches, `worker` plays one, `executor` runs it in another process, `store`
keeps what came of it, `runner` ties these together, `summary` and `report` make tables.
"""
