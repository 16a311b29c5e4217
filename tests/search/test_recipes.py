"""Recipes: search configurations as values."""

from __future__ import annotations

import pytest

from hybridrag.errors import InvalidInput
from hybridrag.recipes import CORRECTIVE, HYBRID, HYBRID_NO_RERANK, KEYWORD, RECIPES, find_recipes
from hybridrag.types.parse import make_query
from hybridrag.types.queries import SearchOptions, SearchQuery, SearchStrategy, SearchWeights


def test_a_recipe_gives_what_a_search_takes_and_leaves_the_rest_to_the_engine() -> None:
    assert KEYWORD.options() == {
        "strategies": (SearchStrategy.KEYWORD,),
        "rerank_enabled": False,
        "crag_enabled": False,
    }
    query = make_query("BM25", HYBRID.options())
    assert "weights" not in query.options.model_fields_set


def test_hybrid_is_what_a_search_does_unless_told_otherwise() -> None:
    assert make_query("BM25", HYBRID.options()) == SearchQuery(text="BM25", options=SearchOptions())


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_every_recipe_makes_a_valid_query(recipe: object) -> None:
    assert make_query("BM25", getattr(recipe, "options")()).text == "BM25"  # noqa: B009 (parametrised as object)


def test_a_recipe_is_changed_by_replacing_values() -> None:
    changed = HYBRID.replace(name="words first", weights={"keyword": 0.6, "semantic": 0.2, "graph": 0.2})
    assert changed.weights == SearchWeights(keyword=0.6, semantic=0.2, graph=0.2)
    assert changed.options()["weights"] == changed.weights
    assert HYBRID.weights is None
    assert HYBRID.replace(name="hybrid-no-rerank", rerank_enabled=False) == HYBRID_NO_RERANK
    assert HYBRID.replace(name="corrective", crag_enabled=True) == CORRECTIVE


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rerank": True}, "`rerank` is not a known field"),
        ({"strategies": ()}, "`strategies`"),
        ({"name": ""}, "`name`"),
    ],
)
def test_a_wrong_value_is_one_sentence(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        HYBRID.replace(**changes)


def test_recipes_are_found_by_name_and_all_where_none_is_named() -> None:
    assert find_recipes() == RECIPES
    assert find_recipes(["hybrid", "keyword", "hybrid"]) == (HYBRID, KEYWORD)
    with pytest.raises(InvalidInput, match="There is no recipe 'hybird'"):
        find_recipes(["hybird"])
    with pytest.raises(InvalidInput, match="There are keyword, semantic"):
        find_recipes(["zzz"])
