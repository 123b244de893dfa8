"""`python -m ggp` is the command `ggp`, and `main` is what its script calls."""

from ggp.launch import launch


def main() -> None:
    """Run the command; never returns."""
    launch("ggp.cli", prog_name="ggp")


if __name__ == "__main__":
    main()
