"""Opens the table's link in the browser of whoever started it."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from html import escape
from pathlib import Path

_PAGE = '<!doctype html><title>The table</title><meta http-equiv="refresh" content="0; url={}">\n'


def has_screen() -> bool:
    """Whether somebody sits at a screen on which a browser can be opened."""
    displays = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    return sys.stdout.isatty() and (sys.platform == "darwin" or any(map(os.environ.get, displays)))


def open_link(link: str, private: Path) -> None:
    """Open a link in the user's browser; nothing happens if there is none.

    The browser is given a file that redirects to the link: all users of a machine see the command
    lines of all processes, and the link has a secret in it.

    Args:
        private: a folder that only this user may enter.
    """
    page = private / "open.html"
    page.touch(0o600)
    page.write_text(_PAGE.format(escape(link)), encoding="utf-8")
    # Some browsers, and some programs that look for one, return only when they are closed.
    threading.Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()
