from __future__ import annotations

import pytest

from hybridrag.config import load_settings
from hybridrag.errors import InvalidSettings


def test_without_settings_there_is_no_llm_and_the_graph_needs_none() -> None:
    settings = load_settings(env={}).settings
    assert settings.llm.model is None
    assert settings.graph.extractor == "auto"
    assert (settings.llm.timeout_seconds, settings.llm.max_retries, settings.llm.max_tokens_total) == (30.0, 3, 0)


def test_a_limit_of_cost_needs_prices() -> None:
    with pytest.raises(InvalidSettings, match=r"HYBRIDRAG_LLM_MAX_COST: `llm.max_cost` limits nothing until"):
        load_settings(env={"HYBRIDRAG_LLM_MAX_COST": "5"})
    for price in ("INPUT", "OUTPUT"):
        env = {"HYBRIDRAG_LLM_MAX_COST": "5", f"HYBRIDRAG_LLM_PRICE_PER_MILLION_{price}": "0.15"}
        assert load_settings(env=env).settings.llm.max_cost == 5.0


def test_an_address_needs_a_model() -> None:
    with pytest.raises(InvalidSettings, match=r"`llm.model` must be set where `llm.base_url` is"):
        load_settings(env={"HYBRIDRAG_LLM_BASE_URL": "http://localhost:11434/v1"})


def test_the_key_is_masked_wherever_settings_are_shown() -> None:
    loaded = load_settings(env={"HYBRIDRAG_LLM_MODEL": "gpt-4o-mini", "HYBRIDRAG_LLM_API_KEY": "sk-hidden"})
    assert loaded.settings.llm.api_key is not None
    assert loaded.settings.llm.api_key.get_secret_value() == "sk-hidden"
    assert "sk-hidden" not in repr(loaded.settings) + repr(loaded.shown())


def test_an_extractor_that_does_not_exist_is_named() -> None:
    with pytest.raises(InvalidSettings, match="must be one of auto, light, neural, llm"):
        load_settings(env={"HYBRIDRAG_GRAPH_EXTRACTOR": "magic"})
