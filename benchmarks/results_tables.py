"""The tables of docs/results.md, out of kept runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.results_misses import DEEP, FIRST, KINDS, NEAR, Miss
from benchmarks.results_run import LATE, QUALITY, RRF, SMALL_ALONE
from benchmarks.results_sets import LOCAL, MERGED, RELATIONSHIP, ResultSet
from hybridrag.evaluate import BootstrapInterval, EvalRun, PairedDifference, bootstrap_interval, paired_difference
from hybridrag.evaluate.metrics import all_evidence_at
from hybridrag.evaluate.resample import RESAMPLES, SEED
from hybridrag.evaluate.score import metric_values, outcomes_of

DEFAULT = "hybrid"
"""What a search does unless told otherwise; targets are held against it."""
STAGES = {
    "keyword": "keyword",
    "semantic": "semantic",
    "graph": "graph",
    "no-graph": "keyword + semantic",
    "hybrid-no-rerank": "+ graph",
    "hybrid": "+ reranking",
    "corrective": "+ correction",
}
"""Recipe -> what its column is called."""
STEPS = (
    ("the graph", "no-graph", "hybrid-no-rerank"),
    ("reranking", "hybrid-no-rerank", "hybrid"),
    ("correction", "hybrid", "corrective"),
)
MERGED_LOSS = 0.02
THEMES_TARGET = 0.8
KIND_TARGETS = {LOCAL: 0.85, RELATIONSHIP: 0.80, "global": 0.80}
OVERALL_TARGET = 0.90
CONTEXT = 10
"""Results that an answer is made from: where the evidence must be."""
ASKED_TWICE = frozenset({"ms_msft_earnings by year"})
"""Themes of questions that are counted under other themes already."""
RERANKED = {
    "hybrid-no-rerank": "none",
    LATE: "late interaction",
    SMALL_ALONE: "`small` alone",
    DEFAULT: "default",
    QUALITY: "quality",
}
"""Recipe -> what its column is called in the table of rerankers."""
GLOBAL_WAYS = {"keyword": "semantic", "semantic": "semantic", DEFAULT: DEFAULT}


@dataclass(frozen=True, slots=True)
class Measured:
    """Everything that the tables are made of; what was not measured is left out of them."""

    runs: Sequence[tuple[ResultSet, EvalRun]] = ()
    themes: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)
    """Set -> way of searching -> the share of themes that each question's first ten results cover."""
    index: Mapping[str, object] = field(default_factory=dict)
    misses: Sequence[Miss] = ()
    machine: Mapping[str, object] = field(default_factory=dict)

    def run(self, name: str) -> EvalRun | None:
        """The run of a set."""
        return next((run for chosen, run in self.runs if chosen.name == name), None)


def tables(measured: Measured) -> dict[str, str]:
    """Each table by the name of its place in the document."""
    return {
        "about": about(measured),
        "targets": targets(measured),
        "stages": stages(measured),
        "adds": adds(measured),
        "peers": peers(measured),
        "merged": merged(measured),
        "fusion": fusion(measured),
        "reranking": reranking(measured),
        "global": whole(measured),
        "overall": overall(measured),
        "index": index(measured),
        "misses": misses(measured),
    }


# ---------------------------------------------------------------- one table each


def about(measured: Measured) -> str:
    """Sets, sizes, when and on what."""
    rows = [
        [chosen.name, chosen.about, f"{run.documents:,}", f"{run.chunks:,}", _asked(run), f"{run.made:%Y-%m-%d %H:%M}"]
        for chosen, run in measured.runs
    ]
    machine = ", ".join(f"{name} {value}" for name, value in measured.machine.items() if name in {"cpu", "cores"})
    table = _table(["set", "what it is", "documents", "chunks", "questions asked", "asked (UTC)"], rows)
    return f"{table}\n\nMachine: {machine}." if machine else table


def targets(measured: Measured) -> str:
    """What was aimed at, and whether it is reached."""
    rows = [
        [chosen.name, chosen.metric, _percent(chosen.target), _range(value), _met(value.mean >= chosen.target)]
        for chosen, run in measured.runs
        if chosen.target is not None and (value := mean_of(run, DEFAULT, chosen.metric)) is not None
    ]
    losses = merged_losses(measured)
    if losses:
        worst = min(losses.values(), key=lambda it: it.mean)
        met = _met(worst.mean >= -MERGED_LOSS)
        rows.append(["merged, the set that loses most", "Recall@5", "-2.0 points at most", _change(worst), met])
    for name, ways in measured.themes.items():
        value = bootstrap_interval(list(ways[DEFAULT]))
        rows.append([f"themes: {name}", "covered", _percent(THEMES_TARGET), _range(value), _met(value.mean >= 0.8)])
    kinds, total = accuracy(measured, DEFAULT)
    for kind, value in kinds.items():
        target = KIND_TARGETS[kind]
        rows.append(
            [f"accuracy, {kind}", "in the first ten", _percent(target), _range(value), _met(value.mean >= target)]
        )
    if total is not None:
        met = _met(total.mean >= OVERALL_TARGET)
        rows.append(["accuracy, overall", "in the first ten", _percent(OVERALL_TARGET), _range(total), met])
    return _table(["set", "figure", "target", "reached", "met"], rows)


def stages(measured: Measured) -> str:
    """Each way of searching on each set."""
    rows = [
        [f"{chosen.name} ({chosen.metric})", *(_cell(mean_of(run, recipe, chosen.metric)) for recipe in STAGES)]
        for chosen, run in measured.runs
    ]
    return _table(["set", *STAGES.values()], rows)


def adds(measured: Measured) -> str:
    """What each stage changes, question by question."""
    rows = []
    for chosen, run in measured.runs:
        best = max(("keyword", "semantic"), key=lambda recipe: _mean(run, recipe, chosen.metric))
        steps = (("fusion", best, "no-graph"), *STEPS)
        changes = [difference(run, before, after, chosen.metric) for _, before, after in steps]
        if any(change is not None for change in changes):
            rows.append([chosen.name, *map(_cell_of_change, changes)])
    return _table(["set", "fusing words and meaning", *(name for name, _, _ in STEPS)], rows)


def peers(measured: Measured) -> str:
    """What others published, beside ours."""
    rows = []
    for chosen, run in measured.runs:
        value = mean_of(run, DEFAULT, chosen.metric)
        if not chosen.peers or value is None:
            continue
        listed = ", ".join(f"{name} {_percent(figure)}" for name, figure in chosen.peers.items())
        by = chosen.peers_by or chosen.metric
        ours = [_range(value)]
        if chosen.peers_by:
            ours.append(f"{chosen.peers_by} {_range(_first_place(run, DEFAULT))}")
        rows.append([chosen.name, chosen.metric, "; ".join(ours), f"{by}: {listed}"])
    return _table(["set", "figure", "ours", "published"], rows)


def merged(measured: Measured) -> str:
    """Each set in the merged corpus against the set alone."""
    losses = merged_losses(measured)
    both = measured.run("merged")
    rows = []
    for name, loss in losses.items():
        alone = measured.run(name)
        if alone is None or both is None:
            continue
        apart, together = _values(alone, DEFAULT, "Recall@5"), _of_set(both, name)
        rows.append([name, _cell_of(apart.values()), _cell_of(together.values()), _change(loss)])
    return _table(["set", "alone", "in the merged corpus", "difference"], rows)


def fusion(measured: Measured) -> str:
    """`score` against `rrf`, without and with reranking; the last line is the mean of the sets."""
    rows, means = [], []
    for chosen, run in measured.runs:
        pairs = [(recipe, f"{RRF}{recipe}") for recipe in ("hybrid-no-rerank", DEFAULT)]
        found = [[mean_of(run, name, chosen.metric) for name in pair] for pair in pairs]
        changes = [difference(run, rrf, score, chosen.metric) for score, rrf in pairs]
        if all(change is None for change in changes):
            continue
        cells = [[*map(_short, values), _cell_of_change(change)] for values, change in zip(found, changes, strict=True)]
        rows.append([f"{chosen.name} ({chosen.metric})", *cells[0], *cells[1]])
        means.append([value.mean if value else np.nan for values in found for value in values])
    if rows:
        rows.append(["mean of the sets", *_mean_cells(np.mean(np.asarray(means), axis=0).tolist())])
    columns = ["score", "rrf", "difference"]
    both = [f"{name}, {how}" for how in ("not reranked", "reranked") for name in columns]
    return _table(["set", *both], rows)


def reranking(measured: Measured) -> str:
    """Rerankers against each other, and what the default adds to late interaction; then the mean by language."""
    rows: list[list[str]] = []
    means: dict[tuple[str, str], list[list[float]]] = {}
    for chosen, run in measured.runs:
        for metric in ("MRR@10", "nDCG@10", "Recall@10") if chosen.reranked else ():
            found = [mean_of(run, recipe, metric) for recipe in RERANKED]
            rows.append(
                [
                    f"{chosen.name}, {metric}",
                    *map(_short, found),
                    _cell_of_change(difference(run, LATE, DEFAULT, metric)),
                ]
            )
            if all(found):
                language = "Japanese" if "Japanese" in chosen.about else "English"
                means.setdefault((language, metric), []).append([value.mean for value in found if value])
    for (language, metric), values in sorted(means.items()):
        mean = np.mean(np.asarray(values), axis=0).tolist()
        rows.append([f"mean, {language}, {metric}", *map(_percent, mean), f"{100 * (mean[3] - mean[1]):+.1f}"])
    return _table(["set", *RERANKED.values(), "default less late interaction"], rows)


def _mean_cells(means: Sequence[float]) -> list[str]:
    pairs = [means[:2], means[2:]]
    return [cell for a, b in pairs for cell in (_percent(a), _percent(b), f"{100 * (a - b):+.1f}")]


def whole(measured: Measured) -> str:
    """The share of themes that the first ten results cover."""
    ways = list(next(iter(measured.themes.values()), {}))
    rows = [
        [name, str(len(found[ways[0]])), *(_cell_of(found[way]) for way in ways)]
        for name, found in measured.themes.items()
    ]
    return _table(["set", "questions", *ways], rows)


def overall(measured: Measured) -> str:
    """Accuracy by kind of question and over all, for several ways of searching."""
    rows = []
    for recipe in ("keyword", "semantic", DEFAULT):
        kinds, total = accuracy(measured, recipe)
        if total is not None:
            rows.append([recipe, *(_range(kinds[kind]) for kind in KIND_TARGETS), _range(total)])
    return _table(["search", *KIND_TARGETS, "overall"], rows)


def index(measured: Measured) -> str:
    """What indexing takes."""
    found = measured.index
    if not found:
        return "(not measured)"
    rows = [
        ["documents, chunks", f"{found['documents']:,}, {found['chunks']:,}"],
        ["time", f"{found['seconds']} s"],
        ["processor time", f"{found['processor_seconds']} s"],
        ["tokens of an LLM", f"{found['llm_tokens']}"],
        ["peak memory of the process", f"{found['peak_mib']:,} MiB"],
        ["size of the index", f"{found['size_mib']} MiB"],
        ["entities, facts", f"{found['entities']:,}, {found['facts']:,}"],
    ]
    return _table(["2wikimultihopqa, end to end", ""], rows)


def misses(measured: Measured) -> str:
    """The kinds of misses, counted."""
    types = sorted({miss.type for miss in measured.misses})
    rows = []
    for kind in KINDS:
        of_kind = [miss for miss in measured.misses if miss.kind == kind]
        rows.append([kind, *_counts(of_kind, types)])
    rows.append(["all", *_counts(measured.misses, types)])
    ranks = [f"{FIRST + 1}th to {NEAR}th", f"to {DEEP}th", "not found"]
    return _table(["marked document that is missed", "number", *types, *ranks], rows)


def _counts(found: Sequence[Miss], types: Sequence[str]) -> list[str]:
    by_type = Counter(miss.type for miss in found)
    near = sum(miss.rank is not None and miss.rank <= NEAR for miss in found)
    lost = sum(miss.rank is None for miss in found)
    return [str(it) for it in (len(found), *(by_type[kind] for kind in types), near, len(found) - near - lost, lost)]


# ---------------------------------------------------------------- figures


def mean_of(run: EvalRun, recipe: str, metric: str) -> BootstrapInterval | None:
    """The metric of a recipe with its range; None where it was not asked."""
    if recipe not in {one.name for one in run.recipes}:
        return None
    return bootstrap_interval(list(_values(run, recipe, metric).values()))


def difference(run: EvalRun, before: str, after: str, metric: str) -> PairedDifference | None:
    """What the second recipe adds to the first; None where one was not asked."""
    if not {before, after} <= {one.name for one in run.recipes}:
        return None
    first, second = _values(run, before, metric), _values(run, after, metric)
    return paired_difference(list(first.values()), [second[query] for query in first])


def merged_losses(measured: Measured) -> dict[str, PairedDifference]:
    """What each set loses in the merged corpus."""
    both = measured.run("merged")
    found = {}
    for name in MERGED:
        alone = measured.run(name)
        if alone is None or both is None:
            continue
        apart = _values(alone, DEFAULT, "Recall@5")
        together = {query.removeprefix(f"{name}/"): value for query, value in _of_set(both, name).items()}
        shared = [query for query in apart if query in together]
        if shared:
            found[name] = paired_difference([apart[it] for it in shared], [together[it] for it in shared])
    return found


def accuracy(measured: Measured, recipe: str) -> tuple[dict[str, BootstrapInterval], BootstrapInterval | None]:
    """How often the evidence is in the first ten results, by kind of question; and the mean of the three kinds.

    For a question about the whole, the share of its themes. None over all while a kind is missing.
    """
    values: dict[str, list[float]] = {}
    for chosen, run in measured.runs:
        if chosen.kind is not None and recipe in {one.name for one in run.recipes}:
            values.setdefault(chosen.kind, []).extend(_evidence(run, recipe))
    way = GLOBAL_WAYS.get(recipe, recipe)
    themes = [share for name, ways in measured.themes.items() if name not in ASKED_TWICE for share in ways.get(way, ())]
    if themes:
        values["global"] = themes
    kinds = {kind: bootstrap_interval(values[kind]) for kind in KIND_TARGETS if kind in values}
    return kinds, _mean_of_kinds([values[kind] for kind in KIND_TARGETS]) if len(kinds) == len(KIND_TARGETS) else None


def _mean_of_kinds(kinds: Sequence[Sequence[float]]) -> BootstrapInterval:
    """The mean of means, each drawn anew by itself: a kind does not count more for having more questions."""
    generator = np.random.default_rng(SEED)
    drawn = np.zeros(RESAMPLES)
    for values in kinds:
        given = np.asarray(values)
        drawn += given[generator.integers(0, len(given), (RESAMPLES, len(given)))].mean(axis=1) / len(kinds)
    low, high = np.quantile(drawn, [0.025, 0.975])
    mean = sum(sum(values) / len(values) for values in kinds) / len(kinds)
    return BootstrapInterval(mean, float(low), float(high), sum(map(len, kinds)))


def _evidence(run: EvalRun, recipe: str) -> list[float]:
    pairs = outcomes_of(run, recipe)
    return [all_evidence_at(outcome.ranking, query.gold, CONTEXT) for query, outcome in pairs if query.has_evidence]


def _first_place(run: EvalRun, recipe: str) -> BootstrapInterval:
    """Recall@1 where one document is marked: how often it stands first."""
    pairs = [(query, outcome) for query, outcome in outcomes_of(run, recipe) if query.has_evidence]
    return bootstrap_interval([float(bool(query.gold.keys() & outcome.ranking[:1])) for query, outcome in pairs])


def _values(run: EvalRun, recipe: str, metric: str) -> dict[str, float]:
    return metric_values(outcomes_of(run, recipe), metric)


def _of_set(run: EvalRun, name: str) -> dict[str, float]:
    """Recall@5 of the questions of one set in the merged run."""
    found = _values(run, DEFAULT, "Recall@5")
    return {query: value for query, value in found.items() if query.startswith(f"{name}/")}


def _mean(run: EvalRun, recipe: str, metric: str) -> float:
    found = mean_of(run, recipe, metric)
    return -1.0 if found is None else found.mean


# ---------------------------------------------------------------- words


def _asked(run: EvalRun) -> str:
    note = next((note for note in run.notes if note.endswith("queries were asked.")), None)
    return note.removesuffix(" queries were asked.") if note else f"all {len(run.queries)}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def _range(value: BootstrapInterval) -> str:
    return f"{_percent(value.mean)} [{_percent(value.low)}, {_percent(value.high)}]"


def _cell(value: BootstrapInterval | None) -> str:
    return "-" if value is None else _range(value)


def _short(value: BootstrapInterval | None) -> str:
    return "-" if value is None else _percent(value.mean)


def _cell_of(values: Iterable[float]) -> str:
    return _range(bootstrap_interval(list(values)))


def _cell_of_change(change: PairedDifference | None) -> str:
    return "-" if change is None else _change(change)


def _change(change: PairedDifference) -> str:
    """In points; in bold where the range leaves out 0."""
    text = f"{100 * change.mean:+.1f} [{100 * change.low:+.1f}, {100 * change.high:+.1f}]"
    return f"**{text}**" if change.is_clear else text


def _met(reached: bool) -> str:
    return "yes" if reached else "**no**"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return "(not measured)"
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
