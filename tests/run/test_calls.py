"""Functions that are called in a child process."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ggp.errors import ConfigError
from ggp.run import calls
from ggp.run.calls import Child, ChildLostError


class Trap:
    """Leaves a mark where it is unpickled."""

    def __init__(self, mark: str) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.mark,)


def refuse() -> None:
    raise ConfigError("no such thing")


def stumble() -> None:
    raise ZeroDivisionError("by nothing")


def count(most: int) -> str:
    for number in range(most):
        calls.tell(number)
    return "counted"


def give_up() -> None:
    calls.end({"why": "tired"})


def echo() -> list[Any]:
    """The messages up to None."""
    messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
    calls.listen(messages.put)
    calls.tell("listening")
    return list(iter(messages.get, None))


def spring(mark: str) -> Trap:
    return Trap(mark)


def leave(status: int) -> None:
    os.write(2, b"last words")
    os._exit(status)


@pytest.fixture(name="child", scope="module")
def _child() -> Iterator[Child]:
    child = Child()
    yield child
    child.end()


def test_a_child_makes_one_call_after_the_other(child: Child) -> None:
    assert child.call(os.getpid, ()) == (False, child.process.pid)
    assert child.call(divmod, (7, 2)) == (False, (3, 1))
    large = os.urandom(1 << 20)
    assert child.call(bytes, (large,)) == (False, large)


def test_an_exception_of_the_function_is_its_failure(child: Child) -> None:
    failed, error = child.call(refuse, ())
    assert failed
    assert isinstance(error, ConfigError)
    failed, text = child.call(stumble, ())
    assert failed
    assert text.rstrip().endswith("ZeroDivisionError: by nothing")


def test_news_come_before_the_result(child: Child) -> None:
    counts: list[int] = []
    assert child.call(count, (100,), counts.append) == (False, "counted")
    assert counts == list(range(100))


def test_messages_reach_the_call_they_were_sent_in(child: Child) -> None:
    for word in ("first", "second"):
        listening: queue.SimpleQueue[str] = queue.SimpleQueue()
        results: list[Any] = []
        asking = threading.Thread(
            target=lambda: results.append(child.call(echo, (), listening.put))  # noqa: B023
        )
        asking.start()
        listening.get(timeout=60)
        for message in (word, {"a": 1}, None, "too late"):
            assert child.send(message)
        asking.join(60)
        assert results == [(False, [word, {"a": 1}])]


def test_objects_of_a_child_that_is_not_trusted_are_not_unpickled(
    child: Child, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    failed, answer = child.call(spring, (str(mark),), trusts=False)
    assert not failed
    assert isinstance(answer, bytes)
    assert not mark.exists()
    child.call(spring, (str(mark),))
    assert mark.exists()


def test_a_caller_that_waits_too_long_gets_an_error_and_the_child_lives_on() -> None:
    child = Child()
    with pytest.raises(TimeoutError):
        child.call(time.sleep, (60,), until_s=time.monotonic() + 0.05)
    assert child.process.poll() is None
    child.end()


def test_a_function_may_end_the_child_with_a_failure() -> None:
    child = Child()
    assert child.call(give_up, ()) == (True, {"why": "tired"})
    child.end()


def test_a_child_that_ends_in_a_call_says_how() -> None:
    child = Child(collects_errors=True)
    with pytest.raises(ChildLostError, match="exit status 7") as caught:
        child.call(leave, (7,))
    assert (caught.value.status, caught.value.stderr) == (7, b"last words")
    assert not child.send("anything")
