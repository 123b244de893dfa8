"""`python -m match_runner` is the command `match-runner`, and `main` is what its script calls."""

from ggp.launch import launch


def main() -> None:
    """Run the command; never returns."""
    launch("match_runner.cli", prog_name="match-runner")


if __name__ == "__main__":
    main()
