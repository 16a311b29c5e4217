"""Evaluation: metrics, data sets, runs and reports, judges, tuning.

`from hybridrag.evaluate import ...` is its whole public API; like the engine's, a name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybridrag.lazy import load_name

if TYPE_CHECKING:
    from hybridrag.evaluate.accuracy import Confusion, CoveragePoint, abstention_curve, area_under_curve, confusion
    from hybridrag.evaluate.agreement import JudgeAgreement, LabelledCase, judge_agreement, read_labelled_cases
    from hybridrag.evaluate.answering import ANSWER_METRICS, AnswerRow, EvalAnswer, run_answers, score_answers
    from hybridrag.evaluate.datasets import Dataset, load_dataset
    from hybridrag.evaluate.generation import answer_relevancy, context_precision, context_recall, faithfulness
    from hybridrag.evaluate.judgements import Judgements, judgements_of
    from hybridrag.evaluate.metrics import (
        all_evidence_at,
        average_precision,
        ndcg_at,
        precision_at,
        recall_at,
        reciprocal_rank_at,
        themes_covered_at,
    )
    from hybridrag.evaluate.report import write_report
    from hybridrag.evaluate.resample import BootstrapInterval, PairedDifference, bootstrap_interval, paired_difference
    from hybridrag.evaluate.runs import (
        AnswerOutcome,
        EvalRun,
        EvalSearch,
        EvalSetting,
        QueryOutcome,
        RecipeRun,
        run_searches,
    )
    from hybridrag.evaluate.score import (
        ALL_QUESTIONS,
        METRICS,
        ScoreRow,
        compare_runs,
        metric_values,
        outcomes_of,
        score_run,
    )
    from hybridrag.evaluate.support import SupportByLlm, SupportByWords, SupportJudge
    from hybridrag.evaluate.tuning import (
        TUNE_KNOBS,
        RememberingEmbedder,
        SettingsChoice,
        Tuned,
        TuneKnob,
        TuneMeasure,
        TuneTrial,
        choice_as_toml,
        dataset_halves,
        tune,
    )
    from hybridrag.parts import load_judge, load_support_judge

__all__ = [
    "ALL_QUESTIONS",
    "ANSWER_METRICS",
    "METRICS",
    "TUNE_KNOBS",
    "AnswerOutcome",
    "AnswerRow",
    "BootstrapInterval",
    "Confusion",
    "CoveragePoint",
    "Dataset",
    "EvalAnswer",
    "EvalRun",
    "EvalSearch",
    "EvalSetting",
    "JudgeAgreement",
    "Judgements",
    "LabelledCase",
    "PairedDifference",
    "QueryOutcome",
    "RecipeRun",
    "RememberingEmbedder",
    "ScoreRow",
    "SettingsChoice",
    "SupportByLlm",
    "SupportByWords",
    "SupportJudge",
    "TuneKnob",
    "TuneMeasure",
    "TuneTrial",
    "Tuned",
    "abstention_curve",
    "all_evidence_at",
    "answer_relevancy",
    "area_under_curve",
    "average_precision",
    "bootstrap_interval",
    "choice_as_toml",
    "compare_runs",
    "confusion",
    "context_precision",
    "context_recall",
    "dataset_halves",
    "faithfulness",
    "judge_agreement",
    "judgements_of",
    "load_dataset",
    "load_judge",
    "load_support_judge",
    "metric_values",
    "ndcg_at",
    "outcomes_of",
    "paired_difference",
    "precision_at",
    "read_labelled_cases",
    "recall_at",
    "reciprocal_rank_at",
    "run_answers",
    "run_searches",
    "score_answers",
    "score_run",
    "themes_covered_at",
    "tune",
    "write_report",
]

_NAMES_BY_MODULE = {
    "evaluate.accuracy": "Confusion CoveragePoint abstention_curve area_under_curve confusion",
    "evaluate.agreement": "JudgeAgreement LabelledCase judge_agreement read_labelled_cases",
    "evaluate.answering": "ANSWER_METRICS AnswerRow EvalAnswer run_answers score_answers",
    "evaluate.datasets": "Dataset load_dataset",
    "evaluate.generation": "answer_relevancy context_precision context_recall faithfulness",
    "evaluate.judgements": "Judgements judgements_of",
    "evaluate.metrics": "all_evidence_at average_precision ndcg_at precision_at recall_at reciprocal_rank_at "
    "themes_covered_at",
    "evaluate.report": "write_report",
    "evaluate.resample": "BootstrapInterval PairedDifference bootstrap_interval paired_difference",
    "evaluate.runs": "AnswerOutcome EvalRun EvalSearch EvalSetting QueryOutcome RecipeRun run_searches",
    "evaluate.score": "ALL_QUESTIONS METRICS ScoreRow compare_runs metric_values outcomes_of score_run",
    "evaluate.support": "SupportByLlm SupportByWords SupportJudge",
    "evaluate.tuning": "RememberingEmbedder SettingsChoice TUNE_KNOBS TuneKnob TuneMeasure TuneTrial Tuned "
    "choice_as_toml dataset_halves tune",
    "parts": "load_judge load_support_judge",
}
"""Where each public name lives; the same three places as in `hybridrag/__init__.py`."""


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        return load_name(name, _NAMES_BY_MODULE, globals())


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
