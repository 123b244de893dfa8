"""A match of the table in its worker process: seats, and what people there are shown.

In come settings and moves of people over a `link`, out go frames of what happened. Begin with
`seating`, the match. `log_frames` pictures a match of `ggp serve`, which `server_log` reads; `mind`
and `lines` are what a player thinks.
"""
