"""The table: matches in a browser, to watch, to look into and to take part in.

In come requests of browsers (`requests`, within `offers`), out go pages and events. Begin with
`hall`, which has all matches, under its `options`; `held_match` is one of them, `events` tells
browsers what happens, `match_folder` and `shelf` are what is on disk. The server never plays:
worker processes do (`clerk` gives them work). The rooms: `web` is the server, `seats` is what
happens in worker processes; `cli` has the command.
"""
