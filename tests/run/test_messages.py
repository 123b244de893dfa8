"""The one form of messages between processes."""

from __future__ import annotations

import io
import os
import socket

import pytest

from ggp.run.messages import Channel, Messages, framed, read_message

BODIES = [b"", b"one", bytes(range(256)) * 300]


@pytest.mark.parametrize("size", [1, 7, 8, 1000, 1 << 20])
def test_messages_are_whole_in_whatever_pieces_they_come(size: int) -> None:
    stream = b"".join(map(framed, BODIES))
    messages = Messages()
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert [body for piece in pieces for body in messages.add(piece)] == BODIES


def test_a_pipe_that_ends_within_a_message_has_no_more() -> None:
    pipe = io.BytesIO(framed(b"one") + framed(b"two")[:-1])
    assert read_message(pipe) == b"one"
    assert read_message(pipe) is None
    assert read_message(io.BytesIO(framed(b"three")[:5])) is None


def test_a_message_that_is_too_long_is_refused_before_it_comes() -> None:
    with pytest.raises(ValueError, match="a message of 6 bytes"):
        Messages(5).add(framed(b"12345") + framed(b"123456")[:8])


def test_a_channel_passes_descriptors_and_says_when_the_other_end_is_closed() -> None:
    ends = socket.socketpair()
    ours, theirs = map(Channel, ends)
    ends[0].setblocking(False)
    assert ours.receive() == []
    read, write = os.pipe()
    theirs.send({"number": 1})
    theirs.send({"number": 2}, write)
    os.close(write)
    messages: list[dict[str, int]] = []
    while len(messages) < 2:
        messages += ours.receive() or []
    assert messages == [{"number": 1}, {"number": 2}]
    (copy,) = ours.fds
    os.write(copy, b"through the copy")
    assert os.read(read, 100) == b"through the copy"
    theirs.close()
    assert ours.receive() is None
    ours.close()  # and the copy, which nobody has taken
    assert os.read(read, 100) == b""
    os.close(read)
