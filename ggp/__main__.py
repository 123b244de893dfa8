"""Entry point of the command `ggp`, and of `python -m ggp`."""

import sys

from ggp.launch import launch


def main() -> None:
    """Run the command; never returns."""
    launch("ggp.cli", _listen if "serve" in sys.argv else None, prog_name="ggp")


def _listen() -> None:
    """Open the socket of `ggp serve` before its modules are imported, so that clients can wait."""
    from ggp.server.http.listening import listen_early

    listen_early(sys.argv[1:])


if __name__ == "__main__":
    main()
