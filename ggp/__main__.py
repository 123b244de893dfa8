"""`python -m ggp` is the command `ggp`, and `main` is what its script calls."""

import sys

from ggp.launch import launch


def main() -> None:
    """Run the command; never returns."""
    launch("ggp.cli", _listen if "serve" in sys.argv else None, prog_name="ggp")


def _listen() -> None:
    """Open a server's socket, so that clients can wait while it is imported."""
    from ggp.server.http.listening import listen_early

    listen_early(sys.argv[1:])


if __name__ == "__main__":
    main()
