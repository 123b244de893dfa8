"""The table: a web server and a page, on which people watch matches, study them and play.

Requests of browsers come in; pages and events go out. Begin with `match_manager`, which has all
matches. `options` says what the table's owner allows, and checks requests. `held_match` is one
match on the server, which streams events to browsers; `match_folder` keeps matches as files. The
server never plays: worker processes do that, and all other slow work (`worker_tasks`). `server`
runs the `app` on a socket; `guard` checks every request first. Worker processes run `seating`,
which is a match, and `mind`, which computes a player's belief and values. `static/` is the page.
"""
