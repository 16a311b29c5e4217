"""Tables of an evaluation: by recipe, by kind of question, and between two runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import click

from hybridrag import (
    ALL_QUESTIONS,
    BootstrapInterval,
    EvalRun,
    Judgements,
    PairedDifference,
    ScoreRow,
    judgements_of,
    score_run,
)
from hybridrag.apps.cli.output import print_json, print_rows

COLUMNS = ("Recall@5", "Recall@10", "nDCG@10", "MRR@10", "all-evidence@5", "themes@10", "abstains", "falsely-abstains")
"""The metrics of the tables, where they say something; `--json` has all of them."""


def print_run(run: EvalRun) -> None:
    """The tables of a run: all questions, then each kind of them, then how well the recipes judged."""
    click.echo(
        f"{run.dataset}: {len(run.queries)} questions on {run.documents} documents in {run.chunks} chunks; {run.model}"
    )
    for note in run.notes:
        click.echo(note)
    rows = score_run(run)
    for group in dict.fromkeys(row.group for row in rows):
        click.echo("")
        _print_group([row for row in rows if row.group == group])
    _print_judgements({recipe.name: judgements_of(run, recipe.name) for recipe in run.recipes})
    click.echo("\nIn brackets: 95 % intervals by bootstrap over the questions. Times in milliseconds.")


def _print_group(rows: Sequence[ScoreRow]) -> None:
    columns = [name for name in COLUMNS if any(name in row.values for row in rows)]
    title = "all questions" if rows[0].group == ALL_QUESTIONS else rows[0].group
    cells = [
        [row.recipe, *(_cell(row.values.get(name)) for name in columns), f"{row.p50:.0f}", f"{row.p95:.0f}"]
        for row in rows
    ]
    print_rows([f"{title} ({rows[0].queries})", *columns, "p50", "p95"], cells)
    for row in rows:
        if row.failed:
            click.echo(f"{row.recipe}: {row.failed} questions failed and count as not found.")


def _cell(value: BootstrapInterval | None) -> str:
    return "-" if value is None else f"{value.mean:.3f} [{value.low:.2f}-{value.high:.2f}]"


def _print_judgements(judged: Mapping[str, Judgements]) -> None:
    rows = [
        [name, *(_share(part) for part in (one.classification, one.verdict, one.sufficiency)), _corrected(one)]
        for name, one in judged.items()
        if one.classification or one.verdict or one.sufficiency
    ]
    if rows:
        click.echo("")
        print_rows(["right", "type", "verdict", "sufficiency", "corrected"], rows)


def _share(part: object) -> str:
    accuracy, total = getattr(part, "accuracy", None), getattr(part, "total", 0)
    return "-" if accuracy is None else f"{accuracy:.3f} of {total}"


def _corrected(one: Judgements) -> str:
    return f"{one.corrected} of {one.graded_incorrect}" if one.graded_incorrect else "-"


def run_as_json(run: EvalRun) -> dict[str, object]:
    """What `--json` prints: what the run was made with, and every figure."""
    about = run.model_dump(mode="json", exclude={"queries", "recipes"})
    return {
        **about,
        "queries": len(run.queries),
        "scores": [
            {
                "recipe": row.recipe,
                "group": row.group,
                "queries": row.queries,
                "failed": row.failed,
                "p50": round(row.p50, 2),
                "p95": round(row.p95, 2),
                "metrics": {name: asdict(value) for name, value in row.values.items()},
            }
            for row in score_run(run)
        ],
        "judgements": {recipe.name: _judgements_as_json(judgements_of(run, recipe.name)) for recipe in run.recipes},
    }


def _judgements_as_json(one: Judgements) -> dict[str, object]:
    parts = {"classification": one.classification, "verdict": one.verdict, "sufficiency": one.sufficiency}
    confusions = {
        name: None
        if part is None
        else {
            "accuracy": part.accuracy,
            "kappa": part.kappa,
            "total": part.total,
            "confusion": [{"gold": gold, "found": found, "count": n} for (gold, found), n in part.counts.items()],
        }
        for name, part in parts.items()
    }
    return {
        **confusions,
        "abstention": [asdict(point) for point in one.abstention],
        "gradedIncorrect": one.graded_incorrect,
        "corrected": one.corrected,
        "trulyCorrected": one.truly_corrected,
    }


def print_differences(
    old: EvalRun, new: EvalRun, differences: Mapping[tuple[str, str], Mapping[str, PairedDifference]], *, as_json: bool
) -> None:
    """What changed, recipe by recipe."""
    if as_json:
        print_json(
            [
                {"before": before, "after": after, "metrics": {name: asdict(value) for name, value in found.items()}}
                for (before, after), found in differences.items()
            ]
        )
        return
    if old.fingerprint != new.fingerprint:
        click.echo("The two runs asked different questions; those in common are compared.")
    for (before, after), found in differences.items():
        label = before if before == after else f"{before} -> {after}"
        rows = [
            [name, f"{d.mean:+.3f} [{d.low:+.3f}, {d.high:+.3f}]", f"{d.p_value:.3f}", *_counted(d)]
            for name, d in found.items()
        ]
        print_rows([label, "difference", "p", "better", "worse", "same"], rows)
        click.echo("")
    click.echo("Paired bootstrap over the questions; in brackets the 95 % interval of the difference.")


def _counted(difference: PairedDifference) -> list[str]:
    return [str(difference.better), str(difference.worse), str(difference.same)]
