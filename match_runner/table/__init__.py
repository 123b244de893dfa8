"""The table: matches in a browser, to watch, to look into and to take part in.

In come requests of browsers, out go pages and events. Begin with `match_manager`, which has all
matches; `options` are those of whoever started it, and check requests. `held_match` is one match,
which streams news to browsers, and `match_folder` keeps matches as files. The server never plays:
worker processes do, and they do its other work too (`worker_tasks`). The rooms: `web` is the
server, `seats` runs in worker processes.
"""
