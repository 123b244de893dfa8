"""The table's web server, and its rules of who may request what.

In come requests, out go the page (`static/`), JSON and events. Begin with `app`; `answers` is what
answers have in common. `server` runs it all on a socket, `guard` and `door` check every request
first.
"""
