"""Measure trained models where they are trained, over lists of two plain searches.

    python -m training.measure WORK MODELS [NAME ...]

A quick look that says whether a model is worth carrying home: searches are BM25 over pieces and the base's vectors,
passages are whole documents cut at 256 tokens. The figures of the docs come from `training.evaluate`.
"""

# mypy: disable-error-code="import-not-found", disallow-subclassing-any=False, disallow-untyped-decorators=False
# mypy: warn-return-any=False, warn-unused-ignores=False
# (torch is needed here alone, and is not installed where types are checked)

# ruff: noqa: T201 (a step says what it did)

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from training.fit import load_model
from training.mine import WordIndex, embed
from training.net import JUDGE, RANK, CrossEncoder, base_model, mixed
from training.ragged import Ragged, load
from training.tables import Ints, Table, score_pairs

DEPTH = 50
BLENDS = (0.0, 0.3, 0.5, 0.7, 1.0)
"""How much of the reranker's score counts."""
Floats = NDArray[np.float64]


def first_stage(base: CrossEncoder, sets: dict[str, Any], name: str, vocabulary: int) -> tuple[Ints, Floats]:
    """The first passages of each question, and their scores from 0 to 1."""
    device = base.positions.device
    questions, passages = (sets[f"ranked/{name}/{part}"] for part in ("questions", "passages"))
    asked = embed(base, Table.build(questions, device), sets["query_prefix"].tolist())
    told = embed(base, Table.build(passages, device), sets["passage_prefix"].tolist())
    words = WordIndex(passages, vocabulary, device)
    by_word = torch.cat([words.scores(questions, start).float() for start in range(0, len(questions), 2048)])
    fused = 0.5 * _spread(by_word) + 0.5 * _spread(asked @ told.T)
    best = fused.topk(min(DEPTH, fused.shape[1]), dim=1)
    return best.indices.cpu().numpy(), unit(best.values.cpu().numpy())


def _spread(scores: torch.Tensor) -> torch.Tensor:
    """Scores of the best hundred between 0 and 1."""
    low = scores.topk(min(100, scores.shape[1]), dim=1).values[:, -1:]
    high = scores.max(1, keepdim=True).values
    return ((scores - low) / (high - low + 1e-6)).clamp(min=0)


def unit(values: Any) -> Floats:
    """Each row between 0 and 1."""
    low, high = values.min(1, keepdims=True), values.max(1, keepdims=True)
    scaled: Floats = (values - low) / (high - low + 1e-9)
    return scaled


def ranking_metrics(lists: Ints, scores: Floats, grades: Ints) -> tuple[float, float, float]:
    """MRR@10, nDCG@10 and Recall@5 of lists in the order of scores."""
    gold: dict[int, dict[int, int]] = {}
    for question, passage, grade in grades.tolist():
        gold.setdefault(question, {})[passage] = grade
    rows = []
    for question, right in gold.items():
        order = lists[question][np.argsort(-scores[question], kind="stable")]
        gains = np.array([right.get(int(passage), 0) for passage in order[:10]], dtype=float)
        hit = np.flatnonzero(gains)
        discount = 1 / np.log2(np.arange(2, 12))
        ideal = np.sort(np.array(list(right.values()), dtype=float))[::-1][:10]
        found = sum(int(passage) in right for passage in order[:5])
        mrr = 1 / (hit[0] + 1) if len(hit) else 0.0
        ndcg = float(gains @ discount[: len(gains)]) / float(ideal @ discount[: len(ideal)])
        rows.append((mrr, ndcg, found / len(right)))
    mrr, ndcg, recall = np.mean(rows, axis=0).tolist() if rows else (0.0, 0.0, 0.0)
    return mrr, ndcg, recall


@torch.no_grad()
def rerank_scores(model: CrossEncoder, questions: Ragged, passages: Ragged, lists: Ints) -> Floats:
    """The model's fit for every question and passage of the lists, squeezed into 0 to 1."""
    device = model.positions.device
    left = np.repeat(np.arange(len(lists)), lists.shape[1])
    with mixed(device):
        fit = score_pairs(
            model.eval(), Table.build(questions, device), Table.build(passages, device), left, lists.reshape(-1)
        )
    return fit[:, RANK].view(lists.shape).cpu().numpy().astype(np.float64)


@torch.no_grad()
def judge_logits(model: CrossEncoder, sets: dict[str, Any], name: str) -> NDArray[np.float32]:
    """(passages, 2) of a set with one label per question."""
    device = model.positions.device
    questions, passages = (Table.build(sets[f"judged/{name}/{part}"], device) for part in ("questions", "passages"))
    owner = sets[f"judged/{name}/owner"]
    with mixed(device):
        found: NDArray[np.float32] = (
            score_pairs(model.eval(), questions, passages, owner, np.arange(len(owner))).cpu().numpy()
        )
    return found


def main(work: Path, models: Path, names: list[str]) -> None:
    """Print the tables."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    sets, weights = load(work / "eval.npz"), load(work / "weights.npz")
    base = base_model(weights).to(device).eval()
    trained = {name: load_model(models, name, weights).to(device).eval() for name in names}
    ranked = sorted({key.split("/")[1] for key in sets if key.startswith("ranked/")})
    for name in ranked:
        with torch.no_grad():
            lists, first = first_stage(base, sets, name, base.words.shape[0])
        grades = sets[f"ranked/{name}/grades"]
        print(
            f"{name}: {len(lists)} questions; MRR@10 nDCG@10 R@5: searches",
            *_shown(ranking_metrics(lists, first, grades)),
        )
        for title, model in trained.items():
            fit = rerank_scores(model, sets[f"ranked/{name}/questions"], sets[f"ranked/{name}/passages"], lists)
            for depth in (16, DEPTH):
                row = []
                for share in BLENDS[1:]:
                    mixed = (1 - share) * first + share * unit(fit)
                    mixed[:, depth:] = first[:, depth:] - 10
                    row += [f"{share}:", *_shown(ranking_metrics(lists, mixed, grades))]
                print(f"   {title} top {depth}", *row)
    for name in sorted({key.split("/")[1] for key in sets if key.startswith("judged/")}):
        label, owner = sets[f"judged/{name}/label"] == 1, sets[f"judged/{name}/owner"]
        for title, model in trained.items():
            logits = judge_logits(model, sets, name)
            best = np.full((2, len(label)), -np.inf)
            for head in (RANK, JUDGE):
                np.maximum.at(best[head], owner, logits[:, head])
            for head, what in ((JUDGE, "judge"), (RANK, "rank")):
                cuts = np.quantile(best[head], np.linspace(0.05, 0.95, 91))
                accuracy = [float(((best[head] > cut) == label).mean()) for cut in cuts]
                at_zero = float(((best[head] > 0) == label).mean())
                cut = cuts[int(np.argmax(accuracy))]
                print(f"{name} {title} {what}: best {max(accuracy):.3f} at {cut:.2f}, at 0 {at_zero:.3f}")


def _shown(values: tuple[float, float, float]) -> list[str]:
    return [f"{value:.3f}" for value in values]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
