"""Tuning: what is tried, what is chosen, and what it is held against."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from evaluate_builders import write_dataset
from hybridrag.config import load_settings
from hybridrag.evaluate.datasets import load_dataset
from hybridrag.evaluate.tuning import (
    TUNE_KNOBS,
    RememberingEmbedder,
    SettingsChoice,
    TuneKnob,
    TuneMeasure,
    TuneTrial,
    choice_as_toml,
    dataset_halves,
    tune,
)
from hybridrag.models.hash_embedder import HashEmbedder
from hybridrag.protocols import Passages

BLEND = TuneKnob("blend", tuple({"rerank.blend": share} for share in (0.0, 0.3, 0.6)))
DEPTH = TuneKnob("depth", tuple({"rerank.top_k": count} for count in (20, 50)))
START: SettingsChoice = {"rerank.blend": 0.3, "rerank.top_k": 50}


def valued(values: Mapping[tuple[float, int], float]) -> tuple[list[SettingsChoice], TuneMeasure]:
    """A measure that looks values up, and notes what it was asked for."""
    asked: list[SettingsChoice] = []

    def measure(choice: SettingsChoice) -> dict[str, float]:
        asked.append(choice)
        value = values.get((float(choice["rerank.blend"]), int(choice["rerank.top_k"])), 0.0)
        return {"q1": value, "q2": value}

    return asked, measure


HILL = {(0.3, 50): 0.5, (0.6, 50): 0.6, (0.0, 50): 0.4, (0.6, 20): 0.7, (0.3, 20): 0.1}


class TestSearching:
    def test_knobs_are_turned_one_after_the_other_from_where_the_last_stands(self) -> None:
        asked, measure = valued(HILL)
        found = tune(measure, measure, knobs=[BLEND, DEPTH], current=START)
        assert found.choice == {"rerank.blend": 0.6, "rerank.top_k": 20}
        assert found.trials[0] == TuneTrial(START, 0.5)
        assert {"rerank.blend": 0.3, "rerank.top_k": 20} in asked
        assert len(found.trials) == len({tuple(trial.choice.items()) for trial in found.trials})

    def test_a_grid_finds_what_turning_one_at_a_time_cannot(self) -> None:
        values = {(0.3, 50): 0.5, (0.6, 50): 0.4, (0.3, 20): 0.4, (0.6, 20): 0.9}
        by_turns = tune(valued(values)[1], valued(values)[1], knobs=[BLEND, DEPTH], current=START)
        by_grid = tune(valued(values)[1], valued(values)[1], knobs=[BLEND, DEPTH], current=START, grid=True)
        assert by_turns.choice == {}
        assert by_grid.choice == {"rerank.blend": 0.6, "rerank.top_k": 20}
        assert len(by_grid.trials) == 6

    def test_a_gain_that_is_noise_is_no_reason_to_leave_what_is_set(self) -> None:
        _, measure = valued({(0.3, 50): 0.5, (0.6, 50): 0.5001})
        found = tune(measure, measure, knobs=[BLEND], current=START)
        assert found.choice == {}
        assert not found.is_worth_it
        assert found.held_out.mean == 0

    def test_what_does_worse_on_the_other_half_is_not_worth_it(self) -> None:
        _, train = valued(HILL)
        _, other = valued({(0.3, 50): 0.5, (0.6, 20): 0.4})
        found = tune(train, other, knobs=[BLEND, DEPTH], current=START)
        assert found.training.mean == pytest.approx(0.2)
        assert found.held_out.mean == pytest.approx(-0.1)
        assert not found.is_worth_it

    def test_every_trial_is_told(self) -> None:
        told: list[TuneTrial] = []
        _, measure = valued(HILL)
        found = tune(measure, measure, knobs=[BLEND], current=START, on_trial=told.append)
        assert tuple(told) == found.trials
        assert found.is_worth_it


class TestParts:
    def test_the_halves_share_no_question_and_miss_none(self, tmp_path: Path) -> None:
        dataset = load_dataset(write_dataset(tmp_path / "harbour"))
        first, second = dataset_halves(dataset)
        assert {query.id for query in first.queries}.isdisjoint(query.id for query in second.queries)
        assert len(first.queries) + len(second.queries) == len(dataset.queries)
        assert abs(len(first.queries) - len(second.queries)) <= 1
        assert dataset_halves(dataset) == (first, second)
        with pytest.raises(ValueError, match="at least two questions"):
            dataset_halves(dataset.first(1))

    def test_a_fragment_is_valid_toml_of_real_settings(self, tmp_path: Path) -> None:
        choice: SettingsChoice = {
            "search.fusion": "rrf",
            "search.rrf_k": 20,
            "rerank.blend": 0.5,
            "search.expand": False,
        }
        text = choice_as_toml(choice)
        assert tomllib.loads(text) == {
            "rerank": {"blend": 0.5},
            "search": {"expand": False, "fusion": "rrf", "rrf_k": 20},
        }
        (tmp_path / "hybridrag.toml").write_text(text)
        assert load_settings(tmp_path / "hybridrag.toml", env={}).settings.search.rrf_k == 20

    @pytest.mark.parametrize("knob", TUNE_KNOBS, ids=lambda knob: knob.name)
    def test_every_alternative_is_a_valid_setting_and_one_is_the_default(self, knob: TuneKnob) -> None:
        defaults = {shown.key: shown.value for shown in load_settings(env={}).shown()}
        for alternative in knob.alternatives:
            load_settings(env={}, overrides=dict(alternative))
        assert any(
            all(defaults[key] == value for key, value in alternative.items()) for alternative in knob.alternatives
        )


LOCAL = next(knob for knob in TUNE_KNOBS if knob.name == "weights.local")
KEYWORD, SEMANTIC, GRAPH = (f"search.weights.local.{search}" for search in ("keyword", "semantic", "graph"))
DEFAULT_LOCAL: SettingsChoice = {KEYWORD: 0.35, SEMANTIC: 0.35, GRAPH: 0.3}


class TestWeights:
    def test_a_step_moves_weight_from_one_search_to_another(self) -> None:
        assert LOCAL.around is not None
        steps = LOCAL.around(DEFAULT_LOCAL)
        assert len(steps) == 6
        assert {KEYWORD: 0.45, SEMANTIC: 0.35, GRAPH: 0.2} in steps
        assert all(sum(float(share) for share in step.values()) == pytest.approx(1) for step in steps)

    def test_no_weight_falls_below_nothing(self) -> None:
        assert LOCAL.around is not None
        steps = LOCAL.around({KEYWORD: 0.05, SEMANTIC: 0.95, GRAPH: 0.0})
        assert {KEYWORD: 0.0, SEMANTIC: 1.0, GRAPH: 0.0} in steps
        assert len(steps) == 4
        for step in steps:
            load_settings(env={}, overrides=dict(step))

    def test_steps_go_on_for_as_long_as_they_help_and_all_three_weights_are_written(self) -> None:
        def measure(choice: SettingsChoice) -> dict[str, float]:
            return {"q1": 1 - abs(float(choice[KEYWORD]) - 0.65), "q2": 0.5}

        found = tune(measure, measure, knobs=[LOCAL], current=DEFAULT_LOCAL)
        assert found.choice[KEYWORD] == 0.65
        assert set(found.choice) == {KEYWORD, SEMANTIC, GRAPH}
        assert tomllib.loads(choice_as_toml(found.choice))["search"]["weights"]["local"]["keyword"] == 0.65

    def test_a_grid_holds_every_mix_by_fifths_and_what_is_set(self) -> None:
        assert len(LOCAL.alternatives) == 22
        assert DEFAULT_LOCAL in LOCAL.alternatives


def test_a_question_is_embedded_once_however_often_it_is_asked() -> None:
    class Counting(HashEmbedder):
        asked = 0

        def embed_query(self, text: str, *, tokens: bool = False) -> Passages:
            self.asked += 1
            return super().embed_query(text, tokens=tokens)

    counting = Counting()
    embedder = RememberingEmbedder(counting)
    first, again = embedder.embed_query("tide"), embedder.embed_query("tide")
    assert first is again
    assert counting.asked == 1
    assert embedder.embed_query("tide", tokens=True) is not first
    assert embedder.info == counting.info
    assert (embedder.token_spans("high tide") == counting.token_spans("high tide")).all()
    assert (embedder.embed_passages(["tide"]).pooled == counting.embed_passages(["tide"]).pooled).all()
