"""The promises of the pages on security and on the server: a test exceeds every bound on strangers'
requests, and all numbers agree with the code."""

from __future__ import annotations

import re

import pytest

from ggp.machine.base import Limits
from ggp.protocol import lobby, messages, path, session
from ggp.protocol.messages import MessageLimits
from ggp.server import hosted_match, latency, match_log
from ggp.server.confinement import sandbox, seccomp
from ggp.server.http import http_server, supervisor
from ggp.server.settings import ServerLimits
from ggp.server.workers import pair, pool, worker_match
from match_runner.match import knowledge
from match_runner.table import mind
from match_runner.table.app import STATIC
from match_runner.table.match_manager import MAX_WITH_PEOPLE
from match_runner.table.options import RequestLimits
from tests.support.games import REPOSITORY

PAGES = REPOSITORY / "docs" / "reference"
PAGE = (PAGES / "security.md").read_text(encoding="utf-8")

BOUNDS = {
    "address": (
        "server/test_places.py::test_only_allowed_addresses_are_heard",
        "server/test_limits.py::test_server_listens_to_this_machine_only_by_default",
    ),
    "body of a request": ("server/http/test_raw_sockets.py::test_oversized_requests_are_refused",),
    "headers": ("server/http/test_raw_sockets.py::test_oversized_requests_are_refused",),
    "chunks of a body": ("server/http/test_raw_sockets.py::test_oversized_requests_are_refused",),
    "time from the connection to the last byte": (
        "server/http/test_raw_sockets.py::test_unfinished_request_times_out",
    ),
    "connections": (
        "server/http/test_raw_sockets.py::test_excess_connections_displace_silent_ones",
    ),
    "all unfinished requests together": (
        "server/http/test_raw_sockets.py::test_unfinished_long_requests_take_bounded_memory",
    ),
    "a connection that has its answer": (
        "server/http/test_raw_sockets.py::test_client_that_sends_without_end_is_cut_off",
        "server/http/test_raw_sockets.py::test_answered_connection_that_stays_open_takes_no_place",
    ),
    "length, nesting, number of rules, length of symbols": (
        "protocol/test_messages.py::test_malformed_message_is_refused_with_a_reason",
        "protocol/test_messages.py::test_limits_can_be_set",
    ),
    "matches": (
        "protocol/test_lobby.py::test_start_opens_a_match_and_the_one_too_many_is_busy",
        "protocol/test_places.py::test_one_address_does_not_keep_others_out_with_long_clocks",
    ),
    "roles of one match": (
        "protocol/test_seats.py::test_nobody_gets_workers_for_any_number_of_roles",
    ),
    "matches without a place": (
        "protocol/test_places.py::test_refused_matches_are_forgotten_when_there_are_many",
    ),
    "long texts": (
        "server/test_limits.py::test_long_texts_of_unknown_matches_are_not_read",
        "server/test_limits.py::test_long_texts_beyond_a_few_are_not_read",
    ),
    "connections that wait for the same answer": (
        "server/test_limits.py::test_connections_that_wait_for_the_same_answer_are_few",
    ),
    "turns, missing turns in a row, clocks": (
        "protocol/test_session.py::test_match_without_end_is_refused_at_a_limit",
        "server/test_limits.py::test_large_gaps_are_refused_and_the_match_goes_on",
        "protocol/test_messages.py::test_malformed_message_is_refused_with_a_reason",
    ),
    "percepts of a match": (
        "server/test_limits.py::test_percepts_beyond_the_limit_count_as_unknown",
    ),
    "grounding, circuits": (
        "machine/test_hostile_rules.py::test_rules_that_cannot_be_ground_pass_a_limit",
        "machine/test_hostile_rules.py::test_game_that_cannot_be_ground_runs_without_a_circuit",
    ),
    "reasoning": (
        "machine/test_hostile_rules.py::test_endless_legal_moves_pass_a_limit",
        "machine/test_hostile_rules.py::test_limit_of_memory_is_named",
    ),
    "memory of a worker": (
        "server/workers/test_worker.py::test_worker_that_needs_too_much_memory_ends",
        "server/confinement/test_taken_over.py::test_worker_and_its_children_are_killed_if_they_take_too_much",
    ),
    "silence in a match": (
        "protocol/test_lobby.py::test_silent_match_is_forgotten_after_twice_its_clocks_and_a_minute",
        "protocol/test_places.py::test_start_evicts_a_match_that_is_silent_for_longer_than_its_play_clock",
    ),
    "matches that are over": (
        "protocol/test_lobby.py::test_few_matches_that_are_over_are_remembered",
        "protocol/test_session.py::test_match_that_is_over_repeats_only_its_latest_turns",
    ),
    "log of a match": ("server/test_limits.py::test_log_that_is_full_says_so_and_is_not_resumed",),
    "all logs": (
        "server/test_limits.py::test_size_of_the_log_folder_is_limited",
        "server/test_limits.py::test_match_without_room_for_its_log_is_played",
    ),
    "beliefs of workers": (
        "server/test_limits.py::test_oversized_belief_is_not_stored",
        "server/test_limits.py::test_beliefs_are_stored_beside_the_log_until_the_match_ends",
    ),
    "match ids": ("server/test_server.py::test_match_ids_cannot_name_paths",),
}
"""Tests that exceed each bound, below `tests`."""


def test_every_bound_of_the_page_has_tests() -> None:
    table = PAGE.partition("## What strangers may ask")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \|", table, re.MULTILINE)[1:]
    assert rows == [*BOUNDS]


@pytest.mark.parametrize("bound", BOUNDS)
def test_tests_of_a_bound_exist(bound: str) -> None:
    assert BOUNDS[bound]
    for named in BOUNDS[bound]:
        path, _, name = named.partition("::")
        assert f"def {name}(" in (REPOSITORY / "tests" / path).read_text(encoding="utf-8"), named


LIMITS, TABLE = ServerLimits(), RequestLimits()
(MAX_LISTED,) = re.findall(r"^const MAX_SHOWN = (\d+);$", (STATIC / "lobby.js").read_text(), re.M)

NUMBERS = {
    "security.md": (
        f"| {LIMITS.body_bytes >> 20} MB | 413 |",
        f"| {LIMITS.header_bytes >> 10} KB, however they arrive |",
        f"| chunks of a body | {LIMITS.chunks:,} |",
        f"last byte | {LIMITS.request_s:g} s |",
        f"| connections | {LIMITS.connections}, or fewer where `ulimit -n` is below "
        f"{2 * LIMITS.connections + http_server.RESERVE} |",
        f"| all unfinished requests together | {LIMITS.pending_bytes >> 20} MB |",
        f"has its answer | {LIMITS.linger_s:g} s, {LIMITS.linger_bytes >> 20} MB |",
        f"| roles of one match | {lobby.MAX_ROLES} |",
        f"| {lobby.MAX_WAITING}, with {lobby.MAX_WAITING_CHARS // 10**6} million characters |",
        f"| long texts | {LIMITS.long_texts} waiting",
        f"| connections that wait for the same answer | {LIMITS.waiting} |",
        f"| {messages.MAX_TURN:,}, {path.MAX_GAP}, a week |",
        f"| percepts of a match | {path.MAX_CHARS // 10**6} million characters |",
        f"| {lobby.MAX_REMEMBERED}, with the answers to their latest "
        f"{session.MAX_REPEATED} turns |",
        f"| log of a match | {match_log.MAX_BYTES >> 20} MB |",
        f"each file counts {match_log.FILE_BYTES >> 10} KB extra",
        f"with all that it has started, {('', 'once', 'twice')[pool.FAMILY]} that |",
        f"more addresses than that and {sandbox.SPARE_ADDRESSES >> 30} GB",
        f"more than {sandbox.MAX_OPEN_FILES} open files",
        f"files of more than {sandbox.MAX_FILE_BYTES >> 20} MB",
        f"more than {seccomp.MAX_SHARED_BYTES >> 10} KB that are of no file",
        f"may take `--memory`, {Limits().grounding_bytes >> 30} GB at most",
    ),
    "serving.md": (
        f"until {pair.GRACE_S:g} s after the clock",
        f"at first {session.MARGIN_SHARE:.0%} of the clock".replace("%", " %"),
        f"or {session.MIN_MARGIN_S:g} s, whichever is larger",
        f"must stop {pair.BACK_S:g} s before the deadline",
        f"after {hosted_match.MIN_GROUNDING_S:g} s or half the start clock",
        f"and after {hosted_match.MAX_GROUNDING_S:g} s at most",
        f"for at most {worker_match.PONDER_S:g} s",
        f"within {pool.SILENT_S:g} s that it is there (an understudy that does not compute: "
        f"{pair.LISTEN_S:g} s, or {pair.LISTEN_SHARE:.0%} of".replace("%", " %"),
        f"{pair.HANG_S:g} s after a deadline (up to {pair.STARVED_S:g} s",
        f"within {http_server.SHUTDOWN_S:g} seconds; exit code 0",
        f"After {supervisor.MAX_DEATHS} deaths within {supervisor.WITHIN_S:g} seconds",
    ),
    "table.md": (
        f"have {TABLE.body_bytes >> 20} MB, {TABLE.header_bytes >> 10} KB of headers and "
        f"{TABLE.request_s:g} seconds, and rules {MessageLimits().depth} levels",
        f"there are {TABLE.connections} connections",
        f"has a worker process, up to {MAX_WITH_PEOPLE}",
        f"newest {MAX_LISTED} matches",
    ),
    "../use/table.md": (
        f"Up to {knowledge.EXACT:,} states are examined exactly",
        f"{knowledge.PARTICLES} are sampled",
        f"{('three', 'four')[mind.LINES - 3]} of HyperPlay-II's simulations",
        f"lines stop after {('seven', 'eight')[int(mind.LINES_S) - 7]} seconds",
    ),
}
"""Phrases with numbers that pages must have, made from the constants of the code."""


@pytest.mark.parametrize(
    ("page", "phrase"), [(page, phrase) for page in NUMBERS for phrase in NUMBERS[page]]
)
def test_numbers_in_pages_match_the_code(page: str, phrase: str) -> None:
    assert latency.MIN_SHARE == 0.1  # "to a tenth at the least"
    assert phrase in " ".join((PAGES / page).read_text(encoding="utf-8").split())


BETWEEN_PROCESSES = {
    "ggp/machine/forks.py",
    "ggp/machine/propnet/compile/circuits.py",
    "ggp/run/calls.py",
    "match_runner/workers/cluster.py",
    "match_runner/workers/executor.py",
}
"""Modules that unpickle messages of processes of this user that hold no stranger's rules."""


def test_files_are_never_unpickled() -> None:
    unsafe = re.compile(
        r"^\s*(import|from) (pickle|marshal|shelve)\b|allow_pickle=True", re.MULTILINE
    )
    unpickling = {
        str(file.relative_to(REPOSITORY))
        for package in ("ggp", "match_runner")
        for file in (REPOSITORY / package).rglob("*.py")
        if unsafe.search(file.read_text(encoding="utf-8"))
    }
    assert unpickling == BETWEEN_PROCESSES
