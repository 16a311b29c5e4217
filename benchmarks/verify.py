"""How often the judge is right: `python -m benchmarks.verify --data DIR [--train DIR] [--cases FILE]`.

- Sufficiency: do the passages hold the answer? Right of all, each case judged by regressions fitted to the others
  (5 folds, all sets pooled, passages of one document in one fold); by the text alone; and with how the question is
  put added, which the judge does without.
- The same with what the package's own model says of ten passages, and of two, for the cases that it read, beside what
  is said of them without it: the mean over several deals of the folds, as a few questions more or less change a figure
  by points; and for the repository's own questions by kind, themes by rule.
- Fitted to a set's own questions, as `hybridrag tune --judge` does: without their words and with them, with either
  size of the model as the reader; and with the choices of that fit made in the folds.
- Reliability: of the sets judged sufficient with a probability within a band, how many were.
- Verdict: correct, ambiguous or incorrect over a corpus half of whose documents are held outside.
- Time for ten candidates.

`--cases FILE` keeps what was read and searched, for the next time.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.report import Table
from benchmarks.verify_cases import SPLIT, Case
from benchmarks.verify_fit import (
    SAMPLE,
    Guess,
    Row,
    cross_validate,
    cross_validate_model,
    dealt,
    guess_without_model,
    read_less,
    rows_of,
    told_apart,
)
from benchmarks.verify_model import TAUGHT_READS, Key, Reads, kept_base_reads, kept_model_cases, read_taught
from benchmarks.verify_own import TaughtReads, choices_table, own_table, read_by_base
from hybridrag.protocols import Judgement
from hybridrag.verify.grade import set_score, verdict
from hybridrag.verify.judge import LocalJudge
from hybridrag.verify.read import read_passage

BANDS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
DEALS = 6
"""How often the cases are dealt into folds anew."""

VERDICTS = ("correct", "ambiguous", "incorrect")


def main(arguments: list[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verify", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--train", type=Path, help="folder of the training rows")
    parser.add_argument("--cases", type=Path, help="where the cases are kept")
    parser.add_argument("--sample", type=Path, default=Path("sample"), help="the repository's own labelled questions")
    parser.add_argument("--taught", type=Path, default=TAUGHT_READS, help="what training.labelled wrote (%(default)s)")
    options = parser.parse_args(arguments)
    cases = kept_model_cases(options.cases, options.data, options.train, options.sample)
    for table in run(cases):
        table.print()
    for table in base_tables(cases, kept_base_reads(options.cases, cases), read_taught(options.taught, cases)):
        table.print()


def base_tables(cases: Sequence[Case], base: Mapping[Key, Reads], taught: TaughtReads) -> list[Table]:
    """With the larger size of the model, which was taught some of the sets: in each fold without it."""
    told = told_apart(rows_of(cases))
    read = read_by_base(told, base)
    return [
        own_table(read, "read by `base`, taught in the folds", taught=taught),
        choices_table({"small": told, "base": read}, taught),
    ]


def run(cases: Sequence[Case]) -> list[Table]:
    """Every table of the default."""
    rows = rows_of(cases)
    full, bare = cross_validate(rows), cross_validate(rows, scored=False)
    styled = cross_validate(rows, style=True)
    told = told_apart(rows)
    before, after = [guess_without_model(one) for one in told], cross_validate_model(told)
    deals = [dealt(told, seed) for seed in range(DEALS)]
    ten = [cross_validate_model(deal) for deal in deals]
    two = [cross_validate_model(deal, reading=read_less) for deal in deals]
    return [
        sufficiency_table({"evidence": full, "text alone": bare, "with style": styled}),
        model_table({"without": [before], "ten read": ten, "two read": two}),
        sample_table(before, after, cases),
        own_table(told, "read by `small`"),
        reliability_table(full),
        relevance_table(full),
        *(verdict_table(name, full) for name in SPLIT),
        time_table(rows),
    ]


def sufficiency_table(runs: dict[str, list[Guess]]) -> Table:
    """Right in percent, per set."""
    sources = list(dict.fromkeys(guess.row.case.source for guesses in runs.values() for guess in guesses))
    table = []
    for source in sources:
        here = {name: [guess for guess in guesses if guess.row.case.source == source] for name, guesses in runs.items()}
        first = next(iter(here.values())) or here["text alone"]
        labels = [guess.row.case.sufficient for guess in first]
        often = max(Counter(labels).values()) / len(labels)
        table.append([source, len(labels), often * 100, *(_right(guesses) for guesses in here.values())])
    return Table("Sufficiency, right %", ["set", "cases", "always the commoner", *runs], table)


def _right(guesses: Sequence[Guess]) -> float:
    if not guesses:
        return float("nan")
    return 100 * float(np.mean([(guess.sufficient >= 0.5) == guess.row.case.sufficient for guess in guesses]))


def model_table(runs: Mapping[str, Sequence[Sequence[Guess]]]) -> Table:
    """Right in percent and area under the curve without the model and with it, per set: the mean over the deals."""
    first = next(iter(runs.values()))[0]
    table = []
    for source in dict.fromkeys(guess.row.case.source for guess in first):
        cells: list[object] = [source, sum(guess.row.case.source == source for guess in first)]
        for deals in runs.values():
            cells += np.mean([_right_and_area(deal, source) for deal in deals], axis=0).tolist()
        table.append(cells)
    columns = [part for name in runs for part in (f"{name}, right %", "area")]
    return Table(f"Sufficiency without the model and with it, {DEALS} deals", ["set", "cases", *columns], table)


def _right_and_area(guesses: Sequence[Guess], source: str) -> tuple[float, float]:
    here = [guess for guess in guesses if guess.row.case.source == source]
    yes = [guess.sufficient for guess in here if guess.row.case.sufficient]
    no = [guess.sufficient for guess in here if not guess.row.case.sufficient]
    return _right(here), area(yes, no)


def area(yes: Sequence[float], no: Sequence[float]) -> float:
    """How often one of `yes` is above one of `no`: [.9, .4], [.5] -> .5."""
    if not yes or not no:
        return float("nan")
    above = np.subtract.outer(np.array(yes), np.array(no))
    return float(np.mean((above > 0) + 0.5 * (above == 0)))


def sample_table(before: Sequence[Guess], after: Sequence[Guess], cases: Sequence[Case]) -> Table:
    """Of the repository's own questions, how many are judged sufficient, and their area against unanswerable ones."""
    table = []
    for language in ("en", "ja"):
        runs = [
            [g for g in guesses if g.row.case.source == SAMPLE and g.row.case.language == language]
            for guesses in (before, after)
        ]
        for kind in ("local", "relationship", "unanswerable"):
            wanted = int(kind != "unanswerable")
            cells: list[object] = [language, kind]
            for guesses in runs:
                here = [g.sufficient for g in guesses if _is(g.row.case, kind, wanted)]
                none = [g.sufficient for g in guesses if g.row.case.expected == "unanswerable"]
                cells += [len(here)] if guesses is runs[0] else []
                cells += [sum(chance >= 0.5 for chance in here), area(here, none) if wanted else float("nan")]
            table.append(cells)
        themes = [case for case in cases if _is(case, "global", 1) and case.language == language]
        judged = [LocalJudge().judge(case.question, case.candidates).unwrap().sufficient for case in themes]
        table.append([language, "theme, by rule", len(judged), "", "", sum(chance >= 0.5 for chance in judged), ""])
    columns = ["language", "kind", "answer found", "sufficient", "area", "with model", "area"]
    return Table("The repository's own questions without the model and with it", columns, table)


def _is(case: Case, kind: str, sufficient: int) -> bool:
    return case.source == SAMPLE and case.expected == kind and case.sufficient == sufficient


def reliability_table(guesses: Sequence[Guess]) -> Table:
    """Said against so, per band and language."""
    table = []
    for low, high in pairwise(BANDS):
        cells: list[object] = [f"{low:g}-{high:g}"]
        for japanese in (False, True):
            here = [g for g in guesses if g.row.japanese is japanese and low <= g.sufficient < high]
            said = float(np.mean([g.sufficient for g in here])) if here else float("nan")
            so = float(np.mean([g.row.case.sufficient for g in here])) if here else float("nan")
            cells += [len(here), said, so]
        table.append(cells)
    return Table("Reliability of the sufficiency", ["band", "en cases", "said", "so", "ja cases", "said", "so"], table)


def relevance_table(guesses: Sequence[Guess]) -> Table:
    """Said against so, for single passages."""
    table = []
    for low, high in pairwise(BANDS):
        cells: list[object] = [f"{low:g}-{high:g}"]
        for japanese in (False, True):
            pairs = [
                (float(said), so)
                for guess in guesses
                if guess.row.japanese is japanese and guess.row.case.relevant is not None
                for said, so in zip(guess.relevance, guess.row.case.relevant, strict=True)
                if low <= said < high
            ]
            cells += [len(pairs), *(np.mean(pairs, axis=0).tolist() if pairs else (float("nan"), float("nan")))]
        table.append(cells)
    return Table(
        "Reliability of the relevance", ["band", "en passages", "said", "so", "ja passages", "said", "so"], table
    )


def verdict_table(name: str, guesses: Sequence[Guess]) -> Table:
    """Expected against given verdicts over a split corpus."""
    here = [guess for guess in guesses if guess.row.case.source == f"split_{name}"]
    given = [
        (guess.row.case.expected, verdict(set_score(Judgement(tuple(guess.relevance), guess.sufficient))).value)
        for guess in here
    ]
    counts = Counter(given)
    right = sum(count for (expected, got), count in counts.items() if expected == got)
    rows = [[expected, *(counts[expected, got] for got in VERDICTS)] for expected in VERDICTS]
    share = 100 * right / max(1, len(given))
    sure = sum(count for (expected, got), count in counts.items() if "ambiguous" not in {expected, got})
    sure_right = sum(count for (expected, got), count in counts.items() if expected == got != "ambiguous")
    title = (
        f"Verdicts on {name}: {share:.1f} % of {len(given)} as expected; "
        f"{100 * sure_right / max(1, sure):.1f} % of {sure} where neither is ambiguous"
    )
    return Table(title, ["expected", *VERDICTS], rows)


def time_table(rows: Sequence[Row]) -> Table:
    """Milliseconds of processor time to judge ten candidates that were not read before."""
    judge = LocalJudge()
    table = []
    for language in ("en", "ja"):
        source = f"nomiracl_{language}"
        sets = [row.case for row in rows if row.case.source == source and len(row.case.candidates) >= 10][:60]
        taken, characters = [], []
        for case in sets:
            read_passage.cache_clear()
            began = time.process_time()
            judge.judge(case.question, case.candidates[:10])
            taken.append((time.process_time() - began) * 1000)
            characters.append(sum(len(candidate.text) for candidate in case.candidates[:10]))
        if taken:
            p50, p95 = np.percentile(taken, (50, 95))
            table.append([language, len(taken), int(np.mean(characters)), float(p50), float(p95)])
    return Table("Time for ten candidates, processor ms", ["language", "sets", "characters", "p50", "p95"], table)


if __name__ == "__main__":
    main()
