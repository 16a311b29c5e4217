"""Named search configurations, as values: how to search, apart from what for and how much of it.

    engine.search("Who built the lighthouse?", **GRAPH.options())
    engine.search("Who built the lighthouse?", **HYBRID.replace(rerank_enabled=False).options())

`hybridrag eval` measures them side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from pydantic import Field, ValidationError

from hybridrag.errors import InvalidInput
from hybridrag.types.base import Model
from hybridrag.types.parse import problems
from hybridrag.types.queries import Score, SearchStrategy, SearchWeights


class Recipe(Model):
    """One way to search. What is None is left to the engine."""

    name: str = Field(min_length=1)
    """What tables call it."""
    strategies: tuple[SearchStrategy, ...] = Field(default=(SearchStrategy.HYBRID,), min_length=1)
    """The searches that run."""
    rerank_enabled: bool = True
    """Whether a reranker looks at the best results again."""
    crag_enabled: bool = False
    """Whether results are graded, and corrected where they do not answer."""
    weights: SearchWeights | None = None
    """How much each search counts; None lets the kind of question decide."""
    min_relevance: Score | None = None
    """Results whose score is lower are left out; None for the usual bound."""

    def options(self) -> dict[str, object]:
        """What `Engine.search` takes by name, without what is left to the engine.

        KEYWORD -> {"strategies": ("keyword",), "rerank_enabled": False, "crag_enabled": False}
        """
        fields = {name: getattr(self, name) for name in type(self).model_fields if name != "name"}
        return {name: value for name, value in fields.items() if value is not None}

    def replace(self, **changes: object) -> Recipe:
        """The same with other values, checked.

        HYBRID.replace(name="words first", weights={"keyword": 0.6, "semantic": 0.2, "graph": 0.2})

        Raises:
            InvalidInput: a value is wrong or its name is not known.
        """
        kept = {name: getattr(self, name) for name in type(self).model_fields}
        try:
            return Recipe.model_validate({**kept, **changes})
        except ValidationError as cause:
            raise InvalidInput(f"The recipe is not valid: {'; '.join(problems(cause, Recipe))}.") from None


KEYWORD = Recipe(name="keyword", strategies=(SearchStrategy.KEYWORD,), rerank_enabled=False)
"""By words alone: BM25."""
SEMANTIC = Recipe(name="semantic", strategies=(SearchStrategy.SEMANTIC,), rerank_enabled=False)
"""By meaning alone: nearest vectors."""
GRAPH = Recipe(name="graph", strategies=(SearchStrategy.GRAPH,), rerank_enabled=False)
"""By the knowledge graph alone."""
HYBRID_NO_RERANK = Recipe(name="hybrid-no-rerank", rerank_enabled=False)
"""All three, fused."""
HYBRID = Recipe(name="hybrid")
"""All three, fused and reranked: what a search does unless told otherwise."""
CORRECTIVE = Recipe(name="corrective", crag_enabled=True)
"""As hybrid, then graded, and searched again where the results do not answer."""

RECIPES: tuple[Recipe, ...] = (KEYWORD, SEMANTIC, GRAPH, HYBRID_NO_RERANK, HYBRID, CORRECTIVE)
"""Each adds a stage to the one before, from the least to the most."""


def find_recipes(names: Sequence[str] = ()) -> tuple[Recipe, ...]:
    """The recipes of these names, each once; all of them where none is named.

    ["hybrid", "keyword"] -> (HYBRID, KEYWORD)

    Raises:
        InvalidInput: there is no recipe of that name.
    """
    known = {recipe.name: recipe for recipe in RECIPES}
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"There are {', '.join(known)}."
            raise InvalidInput(f"There is no recipe {name!r}.", hint=hint)
    return tuple(known[name] for name in dict.fromkeys(names)) or RECIPES
