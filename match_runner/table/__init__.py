"""The table: matches in a browser, to watch, to look into and to take part in.

In come requests of browsers (`requests`, within `offers`), out go pages and events. Begin with
`match_manager`, which has all matches, under its `options`; `held_match` is one of them, `events`
streams news to browsers. `match_folder` and `stored_files` read and write files. The server never
plays: worker processes do, and they do its other work too (`worker_tasks`). The rooms: `web` is the
server, `seats` runs in worker processes; `cli` has the command.
"""
