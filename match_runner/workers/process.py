"""The worker's side of `LocalPool`. It imports what a function needs when it is asked for it."""

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

from ggp import children
from ggp.console import EXIT_INTERRUPTED, setup_logging
from ggp.errors import NOTE, GGPError

_answers: BinaryIO | None = None
_lock = threading.Lock()


def tell(news: Any) -> None:
    """Have the caller of the function that is being worked on hear of something meanwhile."""
    _send((None, news))


def _send(answer: tuple[bool | None, Any]) -> None:
    assert _answers is not None
    message = pickle.dumps(answer)
    with _lock:
        _answers.write(message)
        _answers.flush()


def serve() -> None:
    """Answer questions `(function, arguments)` with `(failed, result or text)` until they end."""
    global _answers
    setup_logging(0)
    # The parent has shown the warnings of a game, or will show an error instead. But it does not
    # know that machine code has to be compiled.
    logging.getLogger("ggp").setLevel(logging.ERROR)
    logging.getLogger("ggp.machine.compiling.jit").setLevel(NOTE)
    with os.fdopen(os.dup(0), "rb") as questions, children.own_answers() as answers:
        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), 0)  # nobody else may read questions, as Prolog would
        _answers = answers
        with contextlib.suppress(EOFError, BrokenPipeError):
            while True:
                _send(_answer(questions))
    os._exit(0)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """What is done within can be interrupted, and ends what it has begun; see `LocalPool`."""
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
        return True, str(error)
    except Exception:
        return True, traceback.format_exc()
