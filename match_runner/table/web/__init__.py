"""The table's web server, and who may ask it what.

In come requests, out go the page (`static/`), JSON and events. Begin with `app`; `server` runs it
on a socket, `guard` and `door` look at every request first, and `link_opener` shows the page.
"""
