"""How good one ranking is, against the documents that a person marked: pure functions, one query each.

A search ranks chunks and people mark documents, so a ranking here is of documents: `documents_in_order` keeps the first
appearance of each. Gold is a mapping from document to grade; a grade of 1 or more is relevant. Every value lies in
0-1; a query that has nothing relevant scores 0, as in trec_eval.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

Gold = Mapping[str, int]
"""Document -> grade; 1 or more is relevant, and more is better."""


def documents_in_order(found: Iterable[str]) -> list[str]:
    """Each document where it appears first.

    ["a", "b", "a"] -> ["a", "b"]
    """
    return list(dict.fromkeys(found))


def order_scores(scores: Mapping[str, float]) -> list[str]:
    """Best first; equal scores by id from last to first, as trec_eval breaks ties.

    {"a": 1, "b": 2, "c": 1} -> ["b", "c", "a"]
    """
    return sorted(scores, key=lambda document: (scores[document], document), reverse=True)


def recall_at(ranking: Sequence[str], gold: Gold, k: int) -> float:
    """The share of the relevant documents that are among the first k.

    (["a", "x", "b"], {"a": 1, "b": 1}, 2) -> 0.5
    """
    relevant = _relevant(gold)
    return len(relevant.intersection(ranking[:k])) / len(relevant) if relevant else 0.0


def precision_at(ranking: Sequence[str], gold: Gold, k: int) -> float:
    """The share of the first k that is relevant; places that stayed empty count as wrong.

    (["a", "x", "b"], {"a": 1, "b": 1}, 2) -> 0.5
    """
    return len(_relevant(gold).intersection(ranking[:k])) / k


def reciprocal_rank_at(ranking: Sequence[str], gold: Gold, k: int) -> float:
    """1 / the rank of the first relevant document, 0 when it is not among the first k; its mean is MRR@k.

    (["x", "a"], {"a": 1}, 10) -> 0.5
    """
    relevant = _relevant(gold)
    return next((1 / rank for rank, document in enumerate(ranking[:k], start=1) if document in relevant), 0.0)


def average_precision(ranking: Sequence[str], gold: Gold) -> float:
    """The mean, over all relevant documents, of the precision where each stands (0 for one not found); its mean is MAP.

    (["a", "x", "b"], {"a": 1, "b": 1}) -> (1/1 + 2/3) / 2
    """
    relevant = _relevant(gold)
    ranks = [rank for rank, document in enumerate(ranking, start=1) if document in relevant]
    return sum(seen / rank for seen, rank in enumerate(ranks, start=1)) / len(relevant) if relevant else 0.0


def ndcg_at(ranking: Sequence[str], gold: Gold, k: int) -> float:
    """The grades of the first k, each divided by log2(rank + 1), as a share of what the best order would give.

    (["x", "a"], {"a": 1}, 10) -> 1/log2(3)
    """
    best = _discounted(sorted((grade for grade in gold.values() if grade > 0), reverse=True)[:k])
    return _discounted([max(0, gold.get(document, 0)) for document in ranking[:k]]) / best if best else 0.0


def all_evidence_at(ranking: Sequence[str], gold: Gold, k: int) -> float:
    """1 when every document of the highest grade is among the first k, else 0: a question over several needs them all.

    (["a", "x", "b"], {"a": 2, "b": 2, "c": 1}, 3) -> 1.0; with k = 2 -> 0.0

    Where grades differ, the lower ones mark what also helps, and an answer can do without it.
    """
    highest = max(gold.values(), default=0)
    needed = {document for document, grade in gold.items() if grade == highest >= 1}
    return float(bool(needed) and needed.issubset(ranking[:k]))


def themes_covered_at(ranking: Sequence[str], themes: Sequence[Sequence[str]], k: int) -> float:
    """The share of the themes that one of the first k documents speaks of.

    (["a", "x"], [["a", "b"], ["c"]], 10) -> 0.5
    """
    first = set(ranking[:k])
    return sum(not first.isdisjoint(theme) for theme in themes) / len(themes) if themes else 0.0


def _relevant(gold: Gold) -> set[str]:
    return {document for document, grade in gold.items() if grade >= 1}


def _discounted(grades: Sequence[int]) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))
