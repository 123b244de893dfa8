"""`python -m match_runner` is the command `match-runner`."""

from match_runner.cli import main

if __name__ == "__main__":
    main(prog_name="match-runner")
