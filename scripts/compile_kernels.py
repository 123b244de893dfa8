"""Compiles the kernels that nearly every use needs, to be kept in the package (`ggp/_kernels`).

`make setup` runs this for the processor of a checkout, and the build of a wheel for the levels that
it is to hold (`scripts/wheel_kernels.py`). Machine code depends on the types of arguments, so what
needs kernels is run: matches, each backend, commands, what learns. Two processes share this work,
and neither compiles what the other has compiled.

    python scripts/compile_kernels.py                    # for this processor, unless it is done
    python scripts/compile_kernels.py FOLDER [LEVEL...]  # to a folder, for other processors too
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))

from ggp.machine.compiling import kernel_files  # noqa: E402

KRIEG = "match krieg_tic_tac_toe"

PIECES = (
    "machine krieg_tic_tac_toe propnet",
    "machine tic_tac_toe relational",
    f"{KRIEG} hyperplay2:n=2",
    f"{KRIEG} resolve:trials=20",
    "match kuhn_poker hyperplay2:n=8",
    "serve",
    f"{KRIEG} ismcts:trials=20",
    "match tic_tac_toe mcts:trials=20",
    f"{KRIEG} mcts:trials=20",
    f"{KRIEG} hyperplay:n=2,states=500",
    f"{KRIEG} pimc:worlds=2",
    "ggp learn kuhn_poker --lanes 32 --updates 2 --out k.policy.npz",
    "ggp solve kuhn_poker",
    "ggp solve tic_tac_toe",
    "ggp solve spy_vs_spy",
    "environment kuhn_poker",
    "ggp respond kuhn_poker --player random --seconds 1",
    "machine kriegspiel_5x5 propnet",
    "ggp bench meier",
    "solving krieg_tic_tac_toe",
    "ggp evaluate kriegspiel_5x5 --role white --player aosp:evaluation=kriegspiel,worlds=2",
    "ggp evaluate krieg_tic_tac_toe --role xplayer --player over",
)
"""What is run: the name of a function below, and its arguments. What takes longest comes first, and
neighbours need different kernels."""


CPU_SECONDS = 100
"""What all of this takes (`make setup`, 2026-11-30)."""


def main(arguments: list[str]) -> None:
    """Compile what is not there, and show how far that is."""
    if arguments[:1] == ["--work"]:
        work(Path(arguments[1]), tuple(arguments[2:]))
    folder = Path(arguments[0]) if arguments else kernel_files.PACKAGE_FOLDER
    levels = arguments[1:]
    done = folder / "complete"
    made = ", ".join((kernel_files.made_by(kernel_files.HOST), *levels, *PIECES))
    if done.is_file() and done.read_text(encoding="utf-8") == made:
        return
    kernel_files.prepare(folder, tuple(levels))
    each = " for each level of processors" if levels else ""
    print(f"compiling kernels, once: about {CPU_SECONDS} seconds of CPU time{each}", flush=True)
    compile_all(folder, levels)
    if not arguments:
        asyncio.run(note_for_servers())
    done.write_text(made, encoding="utf-8")


async def note_for_servers() -> None:
    """Note that the kernels of `ggp serve` are there, so that its first start does not look."""
    from ggp.server.workers.kernels import fill_cache

    await fill_cache("auto", "auto")


def compile_all(folder: Path, levels: list[str]) -> None:
    """Let two processes run all pieces.

    Raises:
        SystemExit: one of them ended early.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    pieces: SimpleQueue[str] = SimpleQueue()
    for piece in PIECES:
        pieces.put(piece)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with (
        Progress(*columns, refresh_per_second=2) as progress,
        tempfile.TemporaryDirectory() as scratch,
    ):
        bar = progress.add_task("compiling kernels", total=len(PIECES))

        def run_pieces(_: int) -> None:
            with worker(folder, levels, Path(scratch)) as running:
                assert running.stdin is not None
                assert running.stdout is not None
                with contextlib.suppress(Empty):
                    while True:
                        running.stdin.write(f"{pieces.get_nowait()}\n")
                        running.stdin.flush()
                        if not running.stdout.readline():
                            raise SystemExit("kernels could not be compiled (message above)")
                        progress.advance(bar)

        with ThreadPoolExecutor(2) as threads:
            list(threads.map(run_pieces, range(2)))


@contextlib.contextmanager
def worker(folder: Path, levels: list[str], scratch: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that runs pieces; its own files are thrown away."""
    command = [sys.executable, __file__, "--work", str(folder), *levels]
    own = {
        "GGP_CACHE_DIR": str(scratch / "circuits"),
        "NUMBA_CACHE_DIR": str(scratch / "numba"),
        "PYTHONPATH": os.pathsep.join((str(REPOSITORY), str(entry_points(scratch)), *sys.path)),
    }
    with subprocess.Popen(
        command,
        cwd=scratch,
        env={**os.environ, **own},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        yield running


def entry_points(scratch: Path) -> Path:
    """A folder in which the labs can be found, where the project is not installed."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = scratch / "labs" / f"ggp_hyperplay-{project['version']}.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    heading = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (info / "METADATA").write_text(heading, encoding="utf-8")
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    return info.parent


# ------------------------------------------------------------------------
# The process that runs pieces: one for each line of its input, and a line of output for each.


def work(folder: Path, levels: tuple[str, ...]) -> None:
    """Run pieces, and write all that is compiled to a folder; does not return."""
    from ggp.machine.compiling import jit

    kernel_files.record(folder, levels)
    jit.load_at_once()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for line in sys.stdin:
        kind, *arguments = line.split()
        KINDS[kind](*arguments)
        print(line.strip(), file=answers, flush=True)
    sys.exit()


def machine(game: str, backend: str) -> None:
    from ggp.machine import build_machine
    from ggp.machine.games import load_program

    build_machine(load_program(game), backend, ready=True)


def match(game: str, player: str) -> None:
    import ggp

    loaded = ggp.load(game)
    first, *others = (role for role in loaded.roles if role != "random")
    ggp.play_match(loaded, {first: player, **dict.fromkeys(others, "random")})


def command(*arguments: str) -> None:
    from ggp.cli import main as ggp

    try:
        ggp.main(list(arguments), standalone_mode=False)
    except SystemExit as end:
        if end.code:
            raise


def serve() -> None:
    from ggp.server.workers.kernels import compile_all

    compile_all("auto", "auto")


def environment(game: str) -> None:
    from ggp.env import make

    env = make(game, lanes=128)
    env.reset(seed=1)
    for _ in range(8):
        turn = env.step(env.sample_legal())
        turn.masks, turn.observations, turn.paths, turn.state_tensor  # noqa: B018
        turn.legal[0]


def solving(game: str) -> None:
    import numpy as np

    from ggp.belief.solving.unrolling import Spent, Window
    from ggp.machine import build_machine
    from ggp.machine.base import UNKNOWN
    from ggp.machine.games import load_program

    played = build_machine(load_program(game), "propnet")
    state, turns = played.initial(1), []
    for _ in range(3):
        moves = np.array([[played.legal(state, role)[0][0] for role in range(len(played.roles))]])
        state, percepts = played.step(state, moves)
        turns.append([moves[0, 0], percepts[0, 0], UNKNOWN])
    window, budget = Window(played, 0, played.initial(1)), Spent(100_000, lambda: False)
    window.open(np.array(turns), budget)
    window.witnesses(4, budget, np.random.default_rng(0))
    window.close()


KINDS: Mapping[str, Callable[..., None]] = {
    "machine": machine,
    "match": match,
    "ggp": command,
    "serve": serve,
    "environment": environment,
    "solving": solving,
}

if __name__ == "__main__":
    main(sys.argv[1:])
