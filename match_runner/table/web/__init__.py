"""The table's web server, and its rules of who may request what.

In come requests, out go the page (`static/`), JSON and events. Begin with `app`; `server` runs it
on a socket, and `guard` checks every request first.
"""
