"""A run as one HTML page that needs nothing from elsewhere: tables, plots, and the questions that changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

import numpy as np

from hybridrag.errors import InvalidInput
from hybridrag.evaluate.answering import ANSWER_METRICS, score_answers
from hybridrag.evaluate.changes import Change, find_changes
from hybridrag.evaluate.judgements import Judgements, judgements_of
from hybridrag.evaluate.plots import Line, bars, lines, stacks
from hybridrag.evaluate.resample import BootstrapInterval
from hybridrag.evaluate.runs import AskedQuery, EvalRun, QueryOutcome
from hybridrag.evaluate.score import ALL_QUESTIONS, METRICS, ScoreRow, compare_runs, score_run, step_times

PLOTTED = ("Recall@5", "nDCG@10", "all-evidence@5", "themes@10", "answer@5", "abstains", "falsely-abstains")
SHOWN_CHANGES = 10
"""Questions shown that got better, and as many that got worse, for each pair."""
CURVE_POINTS = 40

STYLE = """
:root { color-scheme: light dark; --ink: #222; --paper: #fff; --faint: #777; --line: #ccc; --good: #e5f3e0; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ddd; --paper: #161616; --faint: #999; --line: #444; --good: #24401e; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 62rem;
  margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: .6rem 0; font-size: 13px; display: block; overflow-x: auto; }
th, td { border-bottom: 1px solid var(--line); padding: .2rem .6rem; text-align: right; vertical-align: top; }
th:first-child, td:first-child, td.text { text-align: left; }
small, .faint { color: var(--faint); }
svg { max-width: 100%; height: auto; display: block; } svg text { font: 11px system-ui, sans-serif; fill: var(--ink); }
.axis { stroke: var(--faint); } .whisker { stroke: var(--ink); }
details { margin: .4rem 0; } summary { cursor: pointer; } .pair { display: flex; flex-wrap: wrap; gap: 1rem; }
.gold { background: var(--good); }
"""


def write_report(run: EvalRun, file: str | Path, *, before: EvalRun | None = None) -> None:
    """Write the page; with `before`, the questions that changed are those between the two runs.

    Raises:
        InvalidInput: the file cannot be written, or the runs have no question in common.
    """
    page = render_report(run, before=before)
    try:
        Path(file).write_text(page, encoding="utf-8")
    except OSError as cause:
        raise InvalidInput(f"{file} cannot be written ({cause.strerror or cause}).") from None


def render_report(run: EvalRun, *, before: EvalRun | None = None) -> str:
    """The page as text."""
    rows = score_run(run)
    parts = [
        _heading(run),
        "<h2>All questions</h2>",
        _table([row for row in rows if row.group == ALL_QUESTIONS]),
        *_by_group(rows),
        *_latency(run),
        *_judgements(run),
        *_answers(run),
        *_changes(run, before),
    ]
    title = escape(f"{run.dataset}: evaluation")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>'
        f"<body>{''.join(parts)}</body></html>\n"
    )


def _heading(run: EvalRun) -> str:
    machine = ", ".join(f"{name} {value}" for name, value in run.machine.items())
    facts = [
        f"{len(run.queries)} questions, {run.documents} documents, {run.chunks} chunks",
        f"hybridrag {run.version}, {run.model}",
        f"made {run.made:%Y-%m-%d %H:%M} UTC; {machine}",
        *run.notes,
    ]
    return f"<h1>{escape(run.dataset)}</h1><p>{'<br>'.join(escape(fact) for fact in facts)}</p>"


def _table(rows: Sequence[ScoreRow]) -> str:
    columns = [name for name in METRICS if any(name in row.values for row in rows)]
    head = "".join(f"<th>{escape(name)}</th>" for name in ("", *columns, "p50 ms", "p95 ms"))
    body = "".join(
        f"<tr><td>{escape(row.recipe)}</td>{''.join(_cell(row, name) for name in columns)}"
        f"<td>{row.p50:.1f}</td><td>{row.p95:.1f}</td></tr>"
        for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def _cell(row: ScoreRow, name: str) -> str:
    return _interval(row.values.get(name))


def _interval(value: BootstrapInterval | None) -> str:
    if value is None:
        return "<td>-</td>"
    return f"<td>{value.mean:.3f}<br><small>{value.low:.2f}-{value.high:.2f}</small></td>"


def _by_group(rows: Sequence[ScoreRow]) -> list[str]:
    parts = ["<h2>By kind of question</h2><p class='faint'>Whiskers are 95 % bootstrap intervals.</p>"]
    for metric in PLOTTED:
        groups = {
            f"{group} ({_size(rows, group)})": {
                row.recipe: row.values[metric] for row in rows if row.group == group and metric in row.values
            }
            for group in dict.fromkeys(row.group for row in rows)
        }
        filled = {group: values for group, values in groups.items() if values}
        if filled:
            parts.append(f"<h3>{escape(metric)}</h3>{bars(f'{metric} by kind of question', filled)}")
    for group in dict.fromkeys(row.group for row in rows if row.group != ALL_QUESTIONS):
        table = _table([row for row in rows if row.group == group])
        parts.append(f"<details><summary>{escape(group)} ({_size(rows, group)})</summary>{table}</details>")
    return parts


def _size(rows: Sequence[ScoreRow], group: str) -> int:
    return next(row.queries for row in rows if row.group == group)


def _latency(run: EvalRun) -> list[str]:
    times = {recipe.name: [outcome.milliseconds for outcome in recipe.outcomes] for recipe in run.recipes}
    most = max((max(spent, default=0.0) for spent in times.values()), default=0.0) or 1.0
    shares = np.linspace(0, 1, CURVE_POINTS + 1)
    curves = [
        Line(name, [(float(x) / most, float(y)) for x, y in zip(np.quantile(spent, shares), shares, strict=True)])
        for name, spent in times.items()
        if spent
    ]
    steps = {recipe.name: step_times(recipe) for recipe in run.recipes}
    return [
        "<h2>Time</h2><h3>By step</h3>",
        "<p class='faint'>Means. The searches run side by side, so their sum is more than a user waits.</p>",
        stacks("mean time by step", steps, unit="ms"),
        "<h3>By question</h3>",
        lines("share of the questions answered within a time", curves, across="ms", up="share", most=most),
    ]


def _judgements(run: EvalRun) -> list[str]:
    judged = {recipe.name: judgements_of(run, recipe.name) for recipe in run.recipes}
    rows = [
        (name, label, part)
        for name, one in judged.items()
        for label, part in (
            ("type of question", one.classification),
            ("verdict", one.verdict),
            ("sufficiency", one.sufficiency),
        )
        if part is not None
    ]
    if not rows:
        return []
    body = "".join(
        f"<tr><td>{escape(name)}</td><td class='text'>{label}</td><td>{part.accuracy:.3f}</td><td>{part.kappa:.2f}</td>"
        f"<td>{part.total}</td><td class='text'>{escape(_mistakes(part.counts))}</td></tr>"
        for name, label, part in rows
    )
    parts = [
        "<h2>Judgements</h2><table><tr><th></th><th>of</th><th>accuracy</th><th>kappa</th><th>questions</th>",
        f"<th>taken for another</th></tr>{body}</table>",
    ]
    return [*parts, *_corrections(judged), *_abstention(judged)]


def _corrections(judged: Mapping[str, Judgements]) -> list[str]:
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{one.graded_incorrect}</td><td>{one.corrected}</td>"
        f"<td>{one.truly_corrected}</td></tr>"
        for name, one in judged.items()
        if one.graded_incorrect
    )
    if not rows:
        return []
    head = "".join(f"<th>{name}</th>" for name in ("", "graded incorrect", "then correct", "rightly"))
    return [
        "<h3>Corrections</h3><p class='faint'>Rightly: a marked document is then among the first ten.</p>",
        f"<table><tr>{head}</tr>{rows}</table>",
    ]


def _abstention(judged: Mapping[str, Judgements]) -> list[str]:
    curves = [
        Line(name, [(point.coverage, point.accuracy) for point in one.abstention])
        for name, one in judged.items()
        if one.abstention
    ]
    if not curves:
        return []
    return [
        "<h3>Keeping silent when unsure</h3>",
        "<p class='faint'>How often sufficiency is judged right, by the share of the questions, the surest first.</p>",
        lines("accuracy by coverage", curves, across="share of questions ventured", up="accuracy"),
    ]


def _answers(run: EvalRun) -> list[str]:
    rows = score_answers(run)
    if not rows:
        return []
    columns = [name for name in ANSWER_METRICS if any(name in row.values for row in rows)]
    head = "".join(f"<th>{escape(name)}</th>" for name in ("", *columns))
    body = "".join(
        f"<tr><td>{escape(row.group)} ({row.queries})</td>"
        f"{''.join(_interval(row.values.get(name)) for name in columns)}</tr>"
        for row in rows
    )
    asked = {query.id: query for query in run.queries}
    wrong = [one for one in run.answers if one.matches is False and not one.abstained]
    listed = "".join(
        f"<tr><td class='text'>{escape(asked[one.query].text)}</td><td class='text'>{escape(one.text)}</td>"
        f"<td class='text'>{escape('; '.join(asked[one.query].answers))}</td></tr>"
        for one in wrong[:SHOWN_CHANGES]
    )
    shown = f"<details><summary>{len(wrong)} answers without a known answer</summary><table>{listed}</table></details>"
    return [
        f"<h2>Answers</h2><p class='faint'>Judged by {escape(run.answers_judged_by)}.</p>",
        f"<table><tr>{head}</tr>{body}</table>{shown if wrong else ''}",
    ]


def _mistakes(counts: Mapping[tuple[str, str], int]) -> str:
    wrong = [(n, gold, found) for (gold, found), n in counts.items() if gold != found]
    return ", ".join(f"{gold} as {found} {n} x" for n, gold, found in sorted(wrong, reverse=True))


def _changes(run: EvalRun, before: EvalRun | None) -> list[str]:
    """Each recipe of the run before against the same one now; in a single run, each against the last."""
    last = run.recipes[-1].name
    if before is None:
        pairs = [((run, recipe.name), (run, last)) for recipe in run.recipes[:-1]]
    else:
        there = {recipe.name for recipe in before.recipes}
        pairs = [((before, recipe.name), (run, recipe.name)) for recipe in run.recipes if recipe.name in there]
    parts = ["<h2>Questions that changed</h2>"] if pairs else []
    for old, new in pairs:
        label = f"{old[1]} before and now" if before is not None else f"from {old[1]} to {new[1]}"
        parts.append(f"<h3>{escape(label)}</h3>{_difference(old, new)}{_change_list(find_changes(old, new))}")
    return parts


def _difference(old: tuple[EvalRun, str], new: tuple[EvalRun, str]) -> str:
    body = "".join(
        f"<tr><td>{escape(name)}</td><td>{d.mean:+.3f}<br><small>{d.low:+.3f} to {d.high:+.3f}</small></td>"
        f"<td>{d.p_value:.3f}</td><td>{d.better}</td><td>{d.worse}</td><td>{d.same}</td></tr>"
        for name, d in compare_runs(old, new).items()
    )
    head = "".join(f"<th>{name}</th>" for name in ("", "difference", "p", "better", "worse", "same"))
    return f"<table><tr>{head}</tr>{body}</table>"


def _change_list(changes: Sequence[Change]) -> str:
    better = [change for change in changes if change.gain > 0]
    worse = [change for change in changes if change.gain < 0]
    parts = []
    for label, some in (("better", better), ("worse", worse)):
        shown = some[:SHOWN_CHANGES]
        note = f", {len(shown)} shown" if len(shown) < len(some) else ""
        parts.append(f"<p>{len(some)} {label}{note}</p>{''.join(_change(change) for change in shown)}")
    return "".join(parts)


def _change(change: Change) -> str:
    query = change.query
    summary = f"{change.metric} {change.before:.2f} to {change.after:.2f}: {query.text}"
    answers = f"<p>Answer: {escape('; '.join(query.answers))}</p>" if query.answers else ""
    return (
        f"<details><summary>{escape(summary)} <small>{escape(query.type)}</small></summary>{answers}"
        f"<div class='pair'>{_outcome(query, change.old)}{_outcome(query, change.new)}</div></details>"
    )


def _outcome(query: AskedQuery, outcome: QueryOutcome) -> str:
    """The trace: what was found by which search, and what each step did."""
    wanted = {document for document, grade in query.gold.items() if grade >= 1}.union(*query.themes)
    rows = "".join(
        f"<tr{' class=gold' if item.document in wanted else ''}><td class='text'>{escape(item.document)}</td>"
        f"<td>{item.score:.3f}</td><td class='text'>{escape(_why(item.ranks, item.via))}</td></tr>"
        for item in outcome.first
    )
    steps = "; ".join(
        f"{step.step} {step.milliseconds:.1f} ms" + (f" ({step.state}: {step.reason})" if step.reason else "")
        for step in outcome.steps
    )
    judged = [
        f"classified as {outcome.classified}" if outcome.classified else "",
        f"verdict {outcome.verdict}" if outcome.verdict else "",
        f"sufficient {outcome.sufficient:.2f}" if outcome.sufficient is not None else "",
        outcome.error or "",
    ]
    said = "; ".join(part for part in judged if part)
    missing = sorted(wanted.difference(outcome.ranking[: len(outcome.first)]))
    return (
        f"<div><table>{rows}</table><p><small>{escape(said)}<br>{escape(steps)}<br>"
        f"not among these: {escape(', '.join(missing) or 'nothing')}</small></p></div>"
    )


def _why(ranks: Mapping[str, int], via: Sequence[str]) -> str:
    found = ", ".join(f"{name} {rank}" for name, rank in ranks.items())
    return found + (f" by way of {' > '.join(via)}" if via else "")
