"""A match of the table in its worker process: seats, and what people there are shown.

In come settings and moves of people over a `link`, out go frames of what happened. Begin with
`seating`, the match. `frames` pictures it turn by turn, `log_frames` and `server_log` do so for a
match of `ggp serve`; `knowledge` is what a role knows, `mind` and `lines` what a player thinks.
"""
