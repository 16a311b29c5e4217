"""Tables of an evaluation: by recipe, by kind of question, and between two runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import click

from hybridrag.apps.cli.output import print_json, print_rows
from hybridrag.evaluate import (
    ALL_QUESTIONS,
    ANSWER_METRICS,
    BootstrapInterval,
    Confusion,
    CoveragePoint,
    EvalRun,
    JudgeAgreement,
    Judgements,
    PairedDifference,
    ScoreRow,
    judgements_of,
    score_answers,
    score_run,
)

COLUMNS = ("Recall@5", "Recall@10", "nDCG@10", "MRR@10", "all-evidence@5", "themes@10", "abstains", "falsely-abstains")
"""The metrics of the tables, where they say something; `--json` has all of them."""


VENTURED = (0.25, 0.5, 0.75)
"""Shares of the cases, the surest first, whose accuracy is shown."""


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
    _print_answers(run)
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
        print_rows(["right", "type", "verdict", "sufficiency", "incorrect, then correct"], rows)


def _print_answers(run: EvalRun) -> None:
    rows = score_answers(run)
    if not rows:
        return
    columns = [name for name in ANSWER_METRICS if any(name in row.values for row in rows)]
    cells = [[f"{row.group} ({row.queries})", *(_cell(row.values.get(name)) for name in columns)] for row in rows]
    click.echo("")
    print_rows([f"answers, judged by {run.answers_judged_by}", *columns], cells)
    failed = [outcome.error for outcome in run.answers if outcome.error]
    if failed:
        click.echo(f"{len(failed)} answers failed, or could not be judged: {failed[0]}")


def _share(part: object) -> str:
    accuracy, total = getattr(part, "accuracy", None), getattr(part, "total", 0)
    return "-" if accuracy is None else f"{accuracy:.3f} of {total}"


def _corrected(one: Judgements) -> str:
    """Of those graded incorrect at first, how many were graded correct in the end, and how many of these rightly."""
    if not one.graded_incorrect:
        return "-"
    return f"{one.corrected} of {one.graded_incorrect}, {one.truly_corrected} rightly"


def run_as_json(run: EvalRun) -> dict[str, object]:
    """What `--json` prints: what the run was made with, and every figure."""
    about = run.model_dump(mode="json", exclude={"queries", "recipes", "answers"})
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
        "answers": [
            {
                "group": row.group,
                "queries": row.queries,
                "metrics": {name: asdict(value) for name, value in row.values.items()},
            }
            for row in score_answers(run)
        ],
    }


def _confusion_as_json(part: Confusion) -> dict[str, object]:
    return {
        "accuracy": part.accuracy,
        "kappa": part.kappa,
        "total": part.total,
        "confusion": [{"gold": gold, "found": found, "count": n} for (gold, found), n in part.counts.items()],
    }


def _judgements_as_json(one: Judgements) -> dict[str, object]:
    parts = {"classification": one.classification, "verdict": one.verdict, "sufficiency": one.sufficiency}
    confusions = {name: None if part is None else _confusion_as_json(part) for name, part in parts.items()}
    return {
        **confusions,
        "abstention": [asdict(point) for point in one.abstention],
        "gradedIncorrect": one.graded_incorrect,
        "corrected": one.corrected,
        "trulyCorrected": one.truly_corrected,
    }


def print_agreement(found: Mapping[str, JudgeAgreement], judge: str, *, as_json: bool) -> None:
    """How far a judge agrees with people, over all cases and by language."""
    if as_json:
        print_json(
            {
                name: {
                    **_confusion_as_json(one.confusion),
                    "areaUnderCurve": one.area,
                    "abstention": [asdict(point) for point in one.curve],
                }
                for name, one in found.items()
            }
        )
        return
    rows = [
        [
            f"{name} ({one.confusion.total})",
            f"{one.confusion.accuracy:.3f}",
            f"{one.confusion.kappa:.3f}",
            f"{one.confusion.recall_of('yes'):.3f}",
            f"{one.confusion.recall_of('no'):.3f}",
            f"{one.area:.3f}",
            *(f"{_accuracy_at(one.curve, share):.3f}" for share in VENTURED),
        ]
        for name, one in found.items()
    ]
    surest = [f"surest {share:.0%}" for share in VENTURED]
    print_rows([f"agreement of {judge}", "accuracy", "kappa", "of yes", "of no", "area", *surest], rows)


def _accuracy_at(curve: Sequence[CoveragePoint], share: float) -> float:
    """The accuracy where at least this share of the cases is judged."""
    return next((point.accuracy for point in curve if point.coverage >= share), 0.0)


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
