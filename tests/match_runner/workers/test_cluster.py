"""Matches on a Dask cluster of two workers on this machine."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ggp.console import setup_logging
from ggp.errors import ConfigError, MatchError
from ggp.labs.learning.learnt_seeds import Task, learn_seed, learn_seeds
from ggp.machine import Limits
from match_runner.match.conditions import Conditions
from match_runner.series.holding import open_executor, run_series
from match_runner.series.match_task import MatchTask, play
from match_runner.series.outcomes import Played
from match_runner.series.store import open_store
from match_runner.workers import cluster as ours
from match_runner.workers.cluster import ClusterExecutor
from match_runner.workers.executor import (
    LocalPool,
    WorkerCrashError,
    WorkerFailedError,
)
from tests.match_runner.series.comparisons import num_matches, rows_of, series_of
from tests.match_runner.series.test_compare_command import run, start, wait_for_matches
from tests.match_runner.workers.test_executor import (
    add,
    die,
    die_with_parent,
    is_alive,
    parent,
    refuse,
    sleep,
    whoami,
)
from tests.support.games import REPOSITORY

distributed = pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

PLAYERS = ("hyperplay:n=3", "hyperplay:n=2")
SERIES = series_of("kuhn_poker", *PLAYERS, rounds=20, equal_states=True)
COMMAND = ("compare", "kuhn_poker", "--players", *PLAYERS, "--equal-states", "--matches", "40")


@pytest.fixture(scope="module")
def cluster(own_cache: None) -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
    ) as test_cluster:
        yield test_cluster


@pytest.fixture
def executor(cluster: Any) -> Iterator[ClusterExecutor]:
    with open_executor(None, cluster.scheduler_address) as open_cluster:
        assert isinstance(open_cluster, ClusterExecutor)
        yield open_cluster


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory, own_cache: None) -> list[tuple[Any, ...]]:
    """The result of the same comparison on this machine."""
    folder = tmp_path_factory.mktemp("local")
    with open_executor(2, None) as pool, open_store(folder, SERIES) as store:
        assert isinstance(pool, LocalPool)
        assert run_series(SERIES, store, pool, lambda match: None) == ()
    return rows_of(folder)


def worker_pids(cluster: Any) -> list[int]:
    return [nanny.pid for nanny in cluster.workers.values()]


def wait_for_pid(path: Path) -> int:
    until = time.monotonic() + 30
    while not (path.exists() and path.read_text()) and time.monotonic() < until:
        time.sleep(0.02)
    return int(path.read_text())


def ends(pid: int) -> bool:
    until = time.monotonic() + 10
    while is_alive(pid) and time.monotonic() < until:
        time.sleep(0.05)
    return not is_alive(pid)


# ---------------------------------------------------------------- comparisons


def test_a_worker_killed_in_the_middle_changes_nothing(
    cluster: Any, executor: ClusterExecutor, tmp_path: Path, expected: list[tuple[Any, ...]]
) -> None:
    victim, address = cluster.workers[0].pid, cluster.workers[0].worker_address
    num_played = 0

    def kill_one(match: Played) -> None:
        nonlocal num_played
        num_played += match.planned.kind == "play"
        if num_played == 5 and is_alive(victim):
            os.kill(victim, signal.SIGKILL)

    with open_store(tmp_path, SERIES) as store:
        assert run_series(SERIES, store, executor, kill_one) == ()
    lost = [
        event
        for _, event in cluster.scheduler.get_events(address)
        if event["action"] == "remove-worker"
    ]
    assert len(lost) == 1
    assert lost[0]["processing-tasks"]
    assert not is_alive(victim)
    assert rows_of(tmp_path) == expected


@pytest.mark.verify
def test_a_killed_command_goes_on_and_gives_the_same_rows(
    cluster: Any, tmp_path: Path, expected: list[tuple[Any, ...]]
) -> None:
    args = (*COMMAND, "--scheduler", cluster.scheduler_address, "--out", str(tmp_path))
    process = start(*args)
    wait_for_matches(process, tmp_path, 12)
    process.kill()
    process.communicate(timeout=30)
    assert num_matches(tmp_path) < 50
    result = run(*args)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert rows_of(tmp_path) == expected


# ---------------------------------------------------------------- calls


def test_a_call_is_made_in_a_child_of_a_worker(cluster: Any, executor: ClusterExecutor) -> None:
    pid, session = executor.submit(whoami, ()).result(30)
    assert pid == session
    assert executor.submit(parent, ()).result(30) in worker_pids(cluster)


def test_a_dead_child_costs_one_call_only(executor: ClusterExecutor) -> None:
    fatal, following = executor.submit(die, ()), executor.submit(add, (2, 2))
    with pytest.raises(WorkerCrashError, match=r"died \(signal 9\), on the Dask worker tcp://"):
        fatal.result(30)
    assert following.result(30) == 4


@pytest.mark.verify
def test_a_task_that_loses_too_many_workers_has_crashed(
    cluster: Any, executor: ClusterExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    with pytest.raises(WorkerCrashError, match=r"^1 Dask workers were lost while they played it"):
        executor.submit(die_with_parent, ()).result(30)
    monkeypatch.undo()
    assert executor.submit(add, (2, 2)).result(30) == 4


def test_an_exception_of_the_function_is_reported(executor: ClusterExecutor) -> None:
    with pytest.raises(WorkerFailedError, match=r"^on the Dask worker tcp://\S+: no such thing$"):
        executor.submit(refuse, ()).result(30)


def test_a_worker_need_not_see_the_rulesheet(executor: ClusterExecutor) -> None:
    rules = (REPOSITORY / "games" / "monty_hall.gdl").read_text()
    task = MatchTask(
        "a.gdl",
        "/not/shared/a.gdl",
        rules,
        "auto",
        Limits(),
        {"candidate": "legal"},
        1,
        Conditions(),
    )
    record = executor.submit(play, (task,)).result(60)
    assert (record.game, record.failed, len(record.turns)) == ("a.gdl", False, 3)


def test_rules_that_a_worker_cannot_play_are_one_line(executor: ClusterExecutor) -> None:
    task = MatchTask("a.gdl", "a.gdl", "(role me)", "auto", Limits(), {}, 1, Conditions())
    with pytest.raises(WorkerFailedError, match=r"a\.gdl: error: there is no rule") as caught:
        executor.submit(play, (task,)).result(60)
    assert "Traceback" not in str(caught.value)


def test_a_call_that_takes_too_long_is_broken_off(cluster: Any, tmp_path: Path) -> None:
    started = tmp_path / "started"
    with open_executor(None, cluster.scheduler_address, 2) as executor:
        hung, following = executor.submit(sleep, (600, str(started))), executor.submit(add, (1, 1))
        with pytest.raises(WorkerCrashError, match="it took longer than 2 seconds and was stopped"):
            hung.result(30)
        assert not is_alive(int(started.read_text()))
        assert following.result(30) == 2


def test_closing_ends_what_runs(cluster: Any, tmp_path: Path) -> None:
    executor = ClusterExecutor(cluster.scheduler_address)
    started = tmp_path / "started"
    running = executor.submit(sleep, (600, str(started)))
    waiting = [executor.submit(sleep, (600, str(tmp_path / str(n)))) for n in range(3)]
    pid = wait_for_pid(started)
    began = time.monotonic()
    executor.close()
    assert time.monotonic() - began < 5
    assert running.cancelled()
    assert all(call.cancelled() for call in waiting)
    assert ends(pid)
    executor.close()


def test_another_version_on_the_workers_is_refused(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ours, "installed_version", lambda: "0.0.7")
    with (
        open_executor(None, cluster.scheduler_address) as executor,
        pytest.raises(WorkerFailedError, match=r"and this machine has 0\.0\.7; install the same"),
    ):
        executor.submit(add, (1, 1)).result(30)


# ---------------------------------------------------------------- schedulers


def test_a_scheduler_without_workers_is_waited_for_and_its_end_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    setup_logging(0)
    empty = distributed.LocalCluster(
        n_workers=0, processes=False, dashboard_address=":0", protocol="tcp", silence_logs=50
    )
    with open_executor(None, empty.scheduler_address) as executor:
        assert "has no workers yet; waiting for them" in capsys.readouterr().err
        call = executor.submit(add, (1, 1))
        with pytest.raises(TimeoutError):
            call.result(0.5)
        empty.close()
        with pytest.raises(MatchError, match=r"connection to the Dask scheduler .* was lost"):
            call.result(30)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("nowhere", "'nowhere' is not the address of a Dask scheduler"),
        ("", "'' is not the address of a Dask scheduler"),
        ("foo://bar:1", "is not the address"),
        ("missing.json", "cannot read the scheduler file missing.json: No such file"),
        (str(REPOSITORY / "README.md") + ".json", "cannot read the scheduler file"),
        ("127.0.0.1:9", "cannot reach the Dask scheduler at 127.0.0.1:9: no answer for 0.5"),
    ],
)
def test_a_scheduler_that_is_not_there_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, message: str
) -> None:
    monkeypatch.setattr(ours, "_CONNECT_S", 0.5)
    result = run(*COMMAND, "--scheduler", address, "--out", str(tmp_path / "new"))
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
    assert not (tmp_path / "new").exists()


def test_a_scheduler_file_is_read(cluster: Any, tmp_path: Path) -> None:
    path = tmp_path / "scheduler.json"
    path.write_text(f'{{"address": "{cluster.scheduler_address}"}}')
    with open_executor(None, str(path)) as executor:
        assert executor.submit(add, (1, 1)).result(30) == 2
    path.write_text("{}")
    with pytest.raises(ConfigError, match="is not a scheduler file of Dask"):
        ClusterExecutor(str(path))


def test_the_address_of_a_worker_is_refused(cluster: Any) -> None:
    with pytest.raises(ConfigError, match="is a Worker of Dask; give the address of the scheduler"):
        ClusterExecutor(next(iter(cluster.scheduler.workers)))


def test_without_dask_the_way_to_install_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ConfigError, match=r"pip install '\.\[cluster\]'` in a checkout"):
        ClusterExecutor("127.0.0.1:8786")


# ---------------------------------------------------------------- recipes


@pytest.mark.parametrize(
    ("kind", "lines"),
    [
        ("SLURMCluster", ("#SBATCH -p normal", "#SBATCH --cpus-per-task=8", "#SBATCH --mem=8G")),
        pytest.param(
            "HTCondorCluster",
            ("RequestCpus = MY.DaskWorkerCores", "+JobFlavour = "),
            marks=pytest.mark.verify,
        ),
    ],
)
def test_the_recipes_write_job_scripts(
    kind: str, lines: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    jobqueue = pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed")
    text = (REPOSITORY / "docs" / "use" / "cluster.md").read_text()
    (recipe,) = (
        block.partition("```")[0]
        for block in text.split("```python\n")[1:]
        if f"import {kind}" in block.partition("```")[0]
    )
    monkeypatch.setattr(getattr(jobqueue, kind), "adapt", lambda *_, **__: None)
    monkeypatch.setattr("builtins.input", lambda prompt: "")
    names: dict[str, Any] = {}
    exec(recipe, names)
    with names["cluster"] as cluster:
        script = cluster.job_script()
    assert f"{sys.executable} -m distributed.cli.dask_worker tcp://" in script
    for line in lines:
        assert line in script


@pytest.mark.verify
def test_seeds_of_a_policy_are_learnt_on_it(cluster: Any) -> None:
    text = (REPOSITORY / "games/kuhn_poker.gdl").read_text()
    tasks = [Task("kuhn_poker.gdl", text, "auto", 32, 2, None, seed, "0") for seed in (1, 2)]
    learned = learn_seeds(tasks, scheduler=cluster.scheduler_address)
    assert sorted(seed.seed for seed in learned) == [1, 2]
    assert [seed.is_exact for seed in learned] == [True, True]
    expected = sorted(learn_seed(task).given_away for task in tasks)
    assert [seed.given_away for seed in learned] == expected
