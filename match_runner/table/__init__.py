"""The table: matches in a browser, to watch, to look into and to take part in.

The server (`server`, `guard`, `app`) holds matches (`hall`, `held_match`, `match_folder`) and tells
browsers what happens (`events`). It never plays: worker processes do (`seating`, `frames`, `mind`,
`lines`, `clerk`, `server_log`, `log_frames`), and talk to it over a socket (`link`). The page is in
`static/`.
"""
