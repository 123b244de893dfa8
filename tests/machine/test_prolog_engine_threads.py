"""Games that are garbage are freed, whichever thread collects them."""

from __future__ import annotations

import threading

from ggp.gdl.normalize import load
from ggp.machine import build_machine


def test_a_game_that_another_thread_drops_is_freed_with_the_next_call() -> None:
    program = load("monty_hall")
    kept, dropped = (build_machine(program, "prolog") for _ in range(2))
    close = dropped._close  # type: ignore[attr-defined]
    raised: list[BaseException] = []

    def run() -> None:
        try:
            close()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert not raised
    engine = kept._engine  # type: ignore[attr-defined]
    assert engine._dropped
    assert not kept.terminal(kept.initial(1))[0]
    assert not engine._dropped
