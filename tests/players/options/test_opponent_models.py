"""The option `model`: how players expect their opponents to move, and learn it."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from benchmarks.opponent_models import score
from ggp.belief.policy_models import (
    PRIOR_COUNTS,
    Strategy,
    path_of,
    read_strategies,
    remember,
    write_strategies,
)
from ggp.errors import ConfigError
from ggp.labs.kriegspiel.threshold_model import Prospects, banded
from ggp.machine.base import Ragged
from ggp.players import SearchPlayer, describe_player, make_player, parse_spec
from match_runner.match.conditions import Conditions
from match_runner.match.referee import play_match
from tests.match_runner.support import arena_of
from tests.support.commands import json_of
from tests.support.games import machine_of_game
from tests.support.opponents import kuhn, policy_file

DEALT = {card: [("noop", [f"(dealt {card})"])] for card in ("jack", "queen", "king")}
PLAYERS = ("hyperplay:n=4", "hyperplay2:n=4", "ismcts:trials=500")


def player(spec: str, role: str, turns: list[tuple[str, list[str]]]) -> SearchPlayer:
    """A player of `kuhn_poker` that has observed these turns."""
    machine = machine_of_game("kuhn_poker", "propnet")
    thinker = make_player(
        parse_spec(spec), machine, machine.roles.index(role), np.random.default_rng(0)
    )
    assert isinstance(thinker, SearchPlayer)
    for move, percepts in turns:
        thinker.observe(move, percepts)
    return thinker


def holdings(thinker: SearchPlayer, opponent: str) -> dict[str, float]:
    """The probabilities of the opponent's cards, in the player's belief."""
    bag = thinker.tracker.bag
    fluents = thinker.machine.fluents(bag.states_of(0))
    weights = bag.weights_of(0).tolist()
    shares: dict[str, float] = {}
    for state, weight in zip(fluents, weights, strict=True):
        (card,) = [f.strip("()").split()[2] for f in state if f.startswith(f"(holds {opponent}")]
        shares[card] = shares.get(card, 0.0) + weight
    return shares


def calling_shares(spec: str) -> dict[str, float]:
    """How often the second player calls a bet with each card, by a player's model."""
    thinker = player(spec, "player1", [])
    machine, model = thinker.machine, thinker.path_model
    assert model is not None
    fold, call = (machine.move_id(text) for text in ("fold", "call"))
    moves = Ragged(np.array([0, 2]), np.array([fold, call]))
    calls = {}
    for card in DEALT:
        history = (("noop", (f"(dealt {card})",)), ("noop", ("bet",)))
        path = path_of(machine, thinker.tracker.tree, 1, history)
        shares, trust = model.shares(1, np.array([path]), moves)
        assert trust.tolist() == [1.0]
        calls[card] = float(shares[1])
    return calls


class TestWeights:
    @pytest.mark.parametrize("spec", ["hyperplay:n=4", "hyperplay2:n=8,exact=0", "pimc"])
    def test_particles_are_weighted_by_the_policy_of_the_opponent(
        self, spec: str, tmp_path: Path
    ) -> None:
        file = policy_file(tmp_path, "never_bluffs")
        turns = [*DEALT["queen"], ("noop", ["bet"])]
        colon = "," if ":" in spec else ":"
        thinker = player(f"{spec}{colon}model=policy:{file}", "player2", turns)
        # A jack bets in one of 200 cases, since models tremble; a king nearly always.
        assert holdings(thinker, "player1") == pytest.approx({"jack": 0.005, "king": 0.995})
        usual = player(spec, "player2", turns)
        assert holdings(usual, "player1") == pytest.approx({"jack": 0.5, "king": 0.5})

    def test_moves_that_a_file_lacks_are_uniform(self, tmp_path: Path) -> None:
        file = tmp_path / "policy.json"
        write_strategies(str(file), {"player1": {(("noop", ("(dealt king)",)),): {"bet": 3.0}}})
        turns = [*DEALT["queen"], ("noop", ["bet"])]
        thinker = player(f"hyperplay:n=4,model=policy:{file}", "player2", turns)
        likely = {"jack": 0.5, "king": 0.995}
        total = sum(likely.values())
        expected = {card: share / total for card, share in likely.items()}
        assert holdings(thinker, "player1") == pytest.approx(expected)

    def test_a_threshold_opponent_bets_with_a_king(self) -> None:
        turns = [*DEALT["queen"], ("noop", ["bet"])]
        thinker = player("hyperplay:n=4,model=threshold", "player2", turns)
        # A jack wins 3/8 of the goals at most, and a king 7/8: above 3/4, from which it bets.
        jack, king = 0.15 / 2, 0.85 + 0.15 / 2
        expected = {"jack": jack / (jack + king), "king": king / (jack + king)}
        assert holdings(thinker, "player1") == pytest.approx(expected, abs=0.01)

    def test_thresholds_say_with_which_cards_a_bet_is_called(self) -> None:
        shares = calling_shares("hyperplay:n=4,model=threshold")
        assert {card for card, share in shares.items() if share > 0.5} == {"queen", "king"}

    @pytest.mark.parametrize("spec", PLAYERS)
    def test_forgetting_paths_does_not_confuse_models(
        self, spec: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        file = policy_file(tmp_path, "never_bluffs")
        decisions = []
        for min_nodes in (0, 1 << 60):
            monkeypatch.setattr("ggp.players.parts.tracker.MIN_NODES", min_nodes)
            thinker = player(f"{spec},model=policy:{file}", "player1", DEALT["jack"])
            thinker.choose()
            thinker.observe("check", [])
            thinker.observe("noop", ["bet"])
            decisions.append(thinker.choose())
            assert thinker.choose().fault is None
            assert holdings(thinker, "player2")["king"] > 0.9
        assert decisions[0].values == decisions[1].values


class TestSearch:
    @pytest.mark.parametrize("spec", ["hyperplay2:n=4", "ismcts:trials=500"])
    def test_a_bluff_is_worth_it_against_an_opponent_who_folds(
        self, spec: str, tmp_path: Path
    ) -> None:
        folds: Strategy = {
            (("noop", (f"(dealt {card})",)), ("noop", ("bet",))): {"fold": 1.0}
            for card in ("jack", "queen", "king")
        }
        file = str(tmp_path / "meek.json")
        write_strategies(file, {"player2": folds})
        thinker = player(f"{spec},model=policy:{file}", "player1", DEALT["jack"])
        decision = thinker.choose()
        values = {estimate.move: estimate.value for estimate in decision.values}
        assert decision.move == "bet"
        assert values["bet"] == pytest.approx(75, abs=3)
        usual = {v.move: v.value for v in player(spec, "player1", DEALT["jack"]).choose().values}
        assert usual["bet"] is not None
        assert usual["bet"] < 50

    @pytest.mark.parametrize("spec", ["hyperplay:n=4", "hyperplay2:n=4", "ismcts:trials=500"])
    def test_the_default_model_is_uniform(self, spec: str) -> None:
        estimates = [
            player(f"{spec}{model}", "player1", DEALT["queen"]).choose().values
            for model in ("", ",model=uniform")
        ]
        assert estimates[0] == estimates[1]


class TestLearning:
    FACED = (*DEALT["queen"], ("noop", ["bet"]))
    BETS: ClassVar = {card: (("noop", (f"(dealt {card})",)),) for card in ("jack", "king")}

    def counted(self, file: Path) -> dict[str, float]:
        """How often the first player was counted to bet with each card."""
        strategy = read_strategies(str(file))["player1"]
        return {card: strategy.get(h, {}).get("bet", 0.0) for card, h in self.BETS.items()}

    def test_a_hand_that_the_score_gives_away_counts_once(self, tmp_path: Path) -> None:
        file = tmp_path / "counts.json"
        thinker = player(f"hyperplay:n=4,model=learned:{file}", "player2", [*self.FACED])
        thinker.ended("call", [], 0)
        assert self.counted(file) == {"jack": 0.0, "king": 1.0}
        assert set(read_strategies(str(file))) == {"player1"}

    def test_a_hand_that_is_not_shown_counts_by_weight(self, tmp_path: Path) -> None:
        file = tmp_path / "counts.json"
        spec = f"hyperplay:n=4,model=learned:{file}"
        player(spec, "player2", [*self.FACED]).ended("fold", [], 25)
        assert self.counted(file) == pytest.approx({"jack": 0.5, "king": 0.5})
        # Once jacks were seen to check, a bet followed by a fold makes a king more likely.
        remember(str(file), {"player1": {self.BETS["jack"]: {"check": 20.0}}})
        player(spec, "player2", [*self.FACED]).ended("fold", [], 25)
        assert self.counted(file)["king"] > 0.5 + 0.8

    def test_counts_are_smoothed_towards_even_moves(self, tmp_path: Path) -> None:
        file = tmp_path / "counts.json"
        remember(str(file), {"player1": {self.BETS["jack"]: {"check": 18.0}}})
        thinker = player(f"hyperplay:n=4,model=learned:{file}", "player2", [*self.FACED])
        jack = PRIOR_COUNTS / (18 + PRIOR_COUNTS) / 2 + 18 / (18 + PRIOR_COUNTS) * 0.005
        assert holdings(thinker, "player1")["jack"] == pytest.approx(jack / (jack + 0.5))

    def test_matches_of_a_series_are_counted_only_on_request(self, tmp_path: Path) -> None:
        file = tmp_path / "counts.json"
        spec = f"player2=hyperplay:n=2,model=learned:{file}"
        conditions = Conditions()
        arena = arena_of("kuhn_poker", spec, "player1=random")
        for seed in range(6):
            play_match(arena, seed, conditions)
        strategy = read_strategies(str(file))["player1"]
        opening = sum(sum(moves.values()) for h, moves in strategy.items() if len(h) == 1)
        assert opening == pytest.approx(6, abs=0.1)
        text = file.read_text()
        play_match(arena, 7, conditions, counts=False)
        play_match(arena_of("kuhn_poker", "player2=hyperplay:n=2"), 7, conditions)
        assert file.read_text() == text
        assert [entry.name for entry in tmp_path.iterdir()] == ["counts.json"]

    @pytest.mark.verify
    def test_learned_counts_raise_the_score(self, tmp_path: Path) -> None:
        """The score of decisions at all information sets against the opponent."""
        opponent = policy_file(tmp_path, "never_bluffs")
        counts = tmp_path / "counts.json"
        spec = "hyperplay2:n=4"
        learning = f"{spec},model=learned:{counts}"
        for seed in range(40):
            for learner, rival in (("player1", "player2"), ("player2", "player1")):
                arena = arena_of(
                    "kuhn_poker", f"{learner}={learning}", f"{rival}=policy:file={opponent}"
                )
                assert play_match(arena, seed).error is None
        tree, strategies = kuhn().tree, read_strategies(opponent)
        assert score(tree, learning, strategies, 0) > score(tree, spec, strategies, 0) + 1


class TestThresholds:
    def prospects(self, values: list[float], spreads: list[float]) -> Prospects:
        widths = np.array(spreads)
        return Prospects(np.arange(len(values)), np.array(values), widths, widths)

    @pytest.mark.parametrize(
        ("win", "move"), [(0.3, "fold"), (0.55, "call"), (0.74, "call"), (0.8, "raise")]
    )
    def test_bands_are_those_of_the_paper(self, win: float, move: str) -> None:
        # The spreads are in no order: nothing depends on the least bold move.
        prospect = self.prospects([win, 0.1, win - 0.1], [0.5, 0.0, 0.3])
        shares = banded(prospect)
        assert ["raise", "fold", "call"][int(np.argmax(shares))] == move
        assert shares.sum() == pytest.approx(1)
        assert shares.min() > 0


class TestFiles:
    def test_counts_of_parallel_processes_are_all_kept(self, tmp_path: Path) -> None:
        file = str(tmp_path / "counts.json")
        with multiprocessing.get_context("fork").Pool(3) as pool:
            pool.map(_count_ten_times, [file] * 3)
        assert read_strategies(file) == {"a": {(("noop", ()),): {"bet": 30.0}}}

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("{", "has no strategies (JSONDecodeError"),
            ('{"value": 3}', "it must be like what `ggp solve GAME --strategy --json` prints"),
            (
                '{"strategy": {"a": [{"history": [], "moves": {"go": -1}}]}}',
                "the shares of go must be numbers of at least 0",
            ),
        ],
    )
    def test_files_without_a_strategy_are_refused(
        self, text: str, message: str, tmp_path: Path
    ) -> None:
        file = tmp_path / "file.json"
        file.write_text(text)
        with pytest.raises(ConfigError) as caught:
            read_strategies(str(file))
        assert message in str(caught.value)

    @pytest.mark.parametrize(
        ("model", "message"),
        [
            ("clever", "must be uniform|late"),
            ("policy", "must be uniform|late"),
            ("learned:", "must be uniform|late"),
            ("threshold:40:70", "must be uniform|late"),
            ("late:hot", "needs a number from 0.1 to 99.9 in late:P, not 'hot'"),
        ],
    )
    def test_impossible_models_are_refused(self, model: str, message: str) -> None:
        with pytest.raises(ConfigError) as caught:
            parse_spec(f"hyperplay:model={model}")
        assert message in str(caught.value)
        with pytest.raises(ConfigError, match="give no model"):
            parse_spec("resolve:model=threshold")
        assert parse_spec("resolve:model=uniform").options == parse_spec("resolve").options
        assert "model" not in {option.name for option in describe_player("resolve").options}

    def test_errors_name_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"nowhere\.json cannot be read"):
            player(f"hyperplay:model=policy:{tmp_path}/nowhere.json", "player1", [])


class TestPolicy:
    def test_the_player_follows_its_file(self, tmp_path: Path) -> None:
        machine = machine_of_game("kuhn_poker", "propnet")
        file = policy_file(tmp_path, "equilibrium")
        spec = parse_spec(f"policy:file={file}")
        thinker = make_player(spec, machine, 0, np.random.default_rng(0))
        thinker.observe("noop", ["(dealt queen)"])
        assert thinker.choose().probabilities == pytest.approx({"bet": 0.0, "check": 1.0})
        thinker.observe("check", [])
        thinker.observe("noop", ["bet"])
        called = read_strategies(file)["player1"]
        (share,) = [m["call"] for h, m in called.items() if "call" in m and "queen" in str(h)]
        mixed = thinker.choose().probabilities
        assert mixed == pytest.approx({"call": share, "fold": 1 - share})

    def test_without_a_file_all_moves_are_equally_likely(self) -> None:
        machine = machine_of_game("kuhn_poker", "propnet")
        thinker = make_player(parse_spec("policy"), machine, 0, np.random.default_rng(0))
        thinker.observe("noop", ["(dealt queen)"])
        assert thinker.choose().probabilities == {"bet": 0.5, "check": 0.5}

    def test_the_output_of_solve_can_be_followed(self, tmp_path: Path) -> None:
        file = tmp_path / "kuhn.json"
        file.write_text(json.dumps(json_of("solve", "kuhn_poker", "--strategy")))
        strategies = read_strategies(str(file))
        assert {role: len(strategy) for role, strategy in strategies.items()} == {
            "player1": 6,
            "player2": 6,
        }


def _count_ten_times(file: str) -> None:
    for _ in range(10):
        remember(file, {"a": {(("noop", ()),): {"bet": 1.0}}})
