"""`python -m ggp` is the command `ggp`."""

from ggp.cli import main

if __name__ == "__main__":
    main(prog_name="ggp")
