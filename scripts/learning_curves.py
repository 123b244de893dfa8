"""`python scripts/learning_curves.py OUT.json OUT.png` measures how fast policies are learnt.

For some games and three seeds, a learner gets so many CPU seconds on one thread. In small games the
exact NashConv of the averaged policies is taken on the way, and in others what each role scores on
average against random play. docs/measured/learning.md shows the result.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from ggp.errors import GGPError
from ggp.labs.learning.env import Environment, make
from ggp.labs.learning.env.exact import ExactGame
from ggp.labs.learning.selfplay import Learner, LearntPolicy
from ggp.labs.learning.selfplay.features import Reader

GAMES = ("kuhn_poker", "leduc_poker", "number_guessing", "krieg_tic_tac_toe")
SEEDS = (1, 2, 3)
POINTS = 8
JUDGED = 1024
"""Matches side by side against random play."""


def nash_conv(exact: ExactGame, policies: dict[str, LearntPolicy]) -> float:
    """What all roles could gain by deviating, each alone."""
    shares = (
        policy.at_sets(sets) for policy, sets in zip(policies.values(), exact.sets, strict=True)
    )
    return exact.worth(*shares).nash_conv


def score(env: Environment, policies: dict[str, LearntPolicy]) -> float:
    """The mean goal value of roles, each of which plays its policy while the others move at
    random."""
    rng, means = np.random.default_rng(0), []
    for role, name in enumerate(env.roles):
        reader, policy = Reader(policies[name].features, env.num_lanes, role), policies[name]
        turn, goals = env.reset(1), []
        for _ in range(64):
            shares = policy.at(reader.read(turn)).cumsum(axis=1)
            drawn = rng.random((len(shares), 1)) * shares[:, -1:]
            actions = np.full((env.num_lanes, len(env.roles)), -1)
            actions[:, role] = (shares > drawn).argmax(axis=1)
            turn = env.step(actions)
            goals.append(turn.rewards[turn.ended, role])
        means.append(float(np.concatenate(goals).mean()))
    return float(np.mean(means))


def exact_game(game: str) -> ExactGame | None:
    """The tree of a game of several roles, if it is small."""
    env = make(game, 1)
    if len(env.roles) == 1:
        return None
    try:
        return ExactGame(env, 20_000)
    except GGPError:
        return None


def curve(game: str, seed: int, seconds: float) -> dict[str, Any]:
    """The points of one learner: CPU seconds, decisions, and the measure."""
    exact = exact_game(game)
    judged = make(game, JUDGED, paths=False)
    learner = Learner(make(game, 1024, paths=False), seed=seed)
    spent, points = 0.0, []

    def point(at: float) -> None:
        policies = learner.policies()
        value = score(judged, policies) if exact is None else nash_conv(exact, policies)
        points.append([round(at, 2), learner.decisions, round(value, 3)])

    due = [seconds * (k + 1) / POINTS for k in range(POINTS - 1)]
    judging = 0.0
    started = time.process_time()

    def clock() -> float:
        return time.process_time() - judging

    def progress(_: object) -> None:
        nonlocal judging
        at = clock() - started
        if due and at >= due[0]:
            due.pop(0)
            before = time.process_time()
            point(at)
            judging += time.process_time() - before

    point(0.0)
    judging += time.process_time() - started
    learner.learn(seconds=seconds, progress=progress, clock=clock)
    spent = clock() - started
    point(spent)
    measure = (
        "mean goal"
        if len(judged.roles) == 1
        else "mean goal against random"
        if exact is None
        else "NashConv"
    )
    return {"game": game, "seed": seed, "measure": measure, "points": points}


def draw(curves: list[dict[str, Any]], path: Path) -> None:
    """A panel a game, a line a seed."""
    from matplotlib.figure import Figure

    games = list(dict.fromkeys(each["game"] for each in curves))
    figure = Figure(figsize=(3.2 * len(games), 2.8), layout="constrained")
    for place, game in enumerate(games):
        axes = figure.add_subplot(1, len(games), place + 1)
        for each in curves:
            if each["game"] == game:
                seconds, _, values = zip(*each["points"], strict=True)
                axes.plot(seconds, values, label=f"seed {each['seed']}")
                axes.set_title(f"{game}: {each['measure']}", fontsize=8)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("CPU seconds", fontsize=8)
        axes.tick_params(labelsize=8)
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path, help="JSON of all points")
    parser.add_argument("picture", type=Path, help="PNG of the curves")
    parser.add_argument("--games", nargs="*", default=GAMES)
    parser.add_argument("--seeds", nargs="*", type=int, default=SEEDS)
    parser.add_argument("--drawn", nargs="*", type=Path, help="only draw what these files hold")
    parser.add_argument("--seconds", type=float, default=30.0, help="CPU seconds of each learner")
    options = parser.parse_args()
    curves: list[dict[str, Any]] = []
    if options.drawn:
        for path in options.drawn:
            curves += json.loads(path.read_text())
        options.out.write_text(json.dumps(curves) + "\n")
        draw(curves, options.picture)
        return
    total = len(options.games) * len(options.seeds) * options.seconds / 60
    print(f"about {total:.1f} CPU minutes, on one thread", flush=True)
    for game in options.games:
        for seed in options.seeds:
            found = curve(game, seed, options.seconds)
            print(game, seed, *found["points"][-1], f"load {os.getloadavg()[0]:.1f}", flush=True)
            curves.append(found)
            options.out.write_text(json.dumps(curves) + "\n")
    draw(curves, options.picture)


if __name__ == "__main__":
    main()
