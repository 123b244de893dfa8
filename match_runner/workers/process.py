"""The worker's side of `LocalPool`. It imports a function's module when it is asked to call it."""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import signal
import threading
import traceback
from collections.abc import Iterator
from typing import Any, BinaryIO

from ggp.console import EXIT_INTERRUPTED, setup_logging
from ggp.errors import NOTE, GGPError
from ggp.run import processes

_answers: BinaryIO | None = None
_lock = threading.Lock()


def tell(news: Any) -> None:
    """Send something to the caller of the running function before the function returns."""
    _send((None, news))


def _send(answer: tuple[bool | None, Any]) -> None:
    assert _answers is not None
    message = pickle.dumps(answer)
    with _lock:
        _answers.write(message)
        _answers.flush()


def serve() -> None:
    """Answer each question `(function, arguments)` with `(failed, result or text)`, to the last."""
    global _answers
    setup_logging(0)
    # The parent has shown the warnings of a game, or will show an error instead. But it cannot
    # know that machine code has to be compiled.
    logging.getLogger("ggp").setLevel(logging.ERROR)
    logging.getLogger("ggp.machine.compiling.jit").setLevel(NOTE)
    with os.fdopen(os.dup(0), "rb") as questions, processes.own_answers() as answers:
        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), 0)  # so that nothing else, such as Prolog, reads questions
        _answers = answers
        with contextlib.suppress(EOFError, BrokenPipeError):
            while True:
                _send(_answer(questions))
    os._exit(0)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Context in which a call can be interrupted, and then ends what it began; see `LocalPool`."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _answer(questions: Any) -> tuple[bool, Any]:
    try:
        function, args = pickle.load(questions)
    except EOFError:
        raise
    except Exception:
        return True, traceback.format_exc()
    try:
        with _interruptible():
            return False, function(*args)
    except KeyboardInterrupt:
        os._exit(EXIT_INTERRUPTED)
    except MemoryError:
        os._exit(1)  # as good as a crash: another try may have more memory
    except GGPError as error:
        return True, error
    except Exception:
        return True, traceback.format_exc()
