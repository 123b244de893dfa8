"""The machine that is used when the first clock asks for a move."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ggp.errors import BackendUnavailableError, ReasonerLimitError
from ggp.gdl import parse
from ggp.gdl.normalize import load, normalize
from ggp.gdl.program import Program
from ggp.machine import Limits, Machine, build
from ggp.machine.build import build_by_the_first_clock
from ggp.machine.compiling import jit
from ggp.machine.compiling.disk_cache import DiskCache
from ggp.machine.propnet.compile import circuits
from ggp.machine.propnet.compile.circuit_file import Built
from ggp.machine.propnet.compile.ground_rules.forecast import GroundingForecast
from ggp.machine.relational import compile
from ggp.run.calls import Meanwhile
from tests.support.sheets.hopeless import poker


@pytest.fixture(autouse=True)
def _nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Circuits are made anew, and refusals forgotten."""
    for memo in ("_refused", "_foreseen"):
        monkeypatch.setattr(circuits, memo, {})
    monkeypatch.setattr(circuits, "user_cache", lambda: DiskCache(None))


def build_and_foresee(
    program: Program, is_asked: Callable[[], bool]
) -> tuple[str, list[GroundingForecast]]:
    """The backend of the machine that is built, and the forecasts."""
    seen: list[GroundingForecast] = []
    machine = build_by_the_first_clock(program, Limits(), is_asked, seen.append)
    assert machine.legal(machine.initial(1), 0).counts[0] > 0
    return machine.backend, seen


def test_a_patient_caller_gets_the_fast_machine() -> None:
    backend, seen = build_and_foresee(load("kuhn_poker"), lambda: False)
    assert backend == "propnet"
    assert [forecast.verdict(Limits()) for forecast in seen] == ["yes"]


@pytest.mark.parametrize(("is_cached", "backend"), [(True, "relational"), (False, "prolog")])
def test_a_request_before_the_rules_are_ground_gets_another_machine(
    monkeypatch: pytest.MonkeyPatch, is_cached: bool, backend: str
) -> None:
    def never(*_: object, meanwhile: Meanwhile, **options: object) -> Built:
        while True:
            meanwhile(lambda: False)

    monkeypatch.setattr(circuits, "build", never)
    monkeypatch.setattr(jit.Kernel, "is_cached", is_cached)
    assert build_and_foresee(load("kuhn_poker"), lambda: True)[0] == backend


@pytest.mark.verify
def test_nobody_waits_for_hopeless_rules(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jit.Kernel, "is_cached", True)
    backend, seen = build_and_foresee(normalize(parse(poker())), lambda: False)
    assert backend == "relational"
    assert [forecast.verdict(Limits()) for forecast in seen] == ["no"]
    assert "(<= sorted " in caplog.text


def test_nobody_waits_for_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit.Kernel, "is_cached", False)
    assert build_and_foresee(normalize(parse(poker())), lambda: False)[0] == "prolog"


def test_rules_that_kernels_cannot_interpret_are_played_on_prolog(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jit.Kernel, "is_cached", True)
    monkeypatch.setattr(compile, "MAX_OPS", 10)
    assert build_and_foresee(normalize(parse(poker())), lambda: False)[0] == "prolog"


@pytest.mark.verify
def test_the_fallback_machine_is_dropped_when_the_circuit_is_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[bool] = []

    def endless(*_: object, meanwhile: Callable[[], None], **options: object) -> Machine:
        calls.append(True)
        while True:
            meanwhile()

    monkeypatch.setattr(build, "_relational", endless)
    monkeypatch.setattr(build, "_SOON_S", 0.0)
    assert build_and_foresee(load("kuhn_poker"), lambda: False)[0] == "propnet"
    assert calls


@pytest.mark.verify
def test_without_another_machine_a_request_has_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **options: object) -> Machine:
        raise BackendUnavailableError("SWI-Prolog", "install it")

    for name in ("_prolog", "_relational"):
        monkeypatch.setattr(build, name, missing)
    assert build_and_foresee(load("kuhn_poker"), lambda: True)[0] == "propnet"
    with pytest.raises(BackendUnavailableError, match="ground rules"):
        build_by_the_first_clock(normalize(parse(poker())), Limits(), lambda: True)


def test_a_callback_can_end_the_grounding() -> None:
    def enough(_: Callable[[], bool]) -> None:
        raise ReasonerLimitError("looks", 1, "waiting")

    with pytest.raises(ReasonerLimitError, match="looks"):
        circuits.build(load("kuhn_poker"), Limits(), meanwhile=enough)
