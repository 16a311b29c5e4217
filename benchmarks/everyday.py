"""Ordinary folders with ordinary questions: is the right file found, and is the answer right?

python -m benchmarks.everyday --data DIR [--folders a,b] [--modes hybrid,semantic,keyword] [--ask] [--keep DIR]
                              [--json FILE] [--settings KEY=VALUE ...]

DIR holds one folder a set: `corpus/`, `queries.jsonl` and `qrels.tsv`, as its README.md tells. Modes are recipes:
`hybrid` is reranked, single searches are not. Results count as files, each once, in the order of their first result:

- recall@5: share of the files that the answer rests on (grade 2) among the first five;
- themes: for overview questions instead, share of their themes with a file among the ten results;
- whole: for questions over several files, whether all of them are among the ten results;
- empty: answerable questions that got no result at all.

`--ask` asks for answers too. One is right that contains an accepted wording, and for overview questions one whose
citations touch half of the themes. Beside it stands the short answer alone: how often it contains an accepted wording,
and its F1 (`hybridrag.evaluate.answers`). `--keep` leaves the indexes in a folder, where the next run finds them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.report import Table, machine_line
from hybridrag import Answer, Engine, Recipe, SearchResult, Settings, find_recipes, load_settings
from hybridrag.errors import InvalidInput, RAGError
from hybridrag.evaluate.answers import token_f1

LIMIT = 10
FIRST = 5
RESTS_ON = 2
"""The grade of a file that the answer rests on; 1 only helps."""
OVERVIEW = "overview"
SEVERAL_FILES = ("relation", "comparison")
RIGHT, WRONG, REFUSED, ANSWERED = "right", "wrong", "refused", "answered"
_MARKS = re.compile(r"[*`_\s]+")
_CITATION = re.compile(r"\[\d+\]")


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a folder, with what is known of its answer."""

    id: str
    text: str
    kind: str
    language: str
    answerable: bool
    accepted: tuple[str, ...] = ()
    gold: tuple[str, ...] = ()
    """The files that the answer rests on."""
    themes: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the engine itself held of its results; None where it did not judge."""

    sufficient: bool | None = None
    confidence: float | None = None
    grade: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found. A measure that the question has no use for is None."""

    files: tuple[str, ...]
    recall: float | None
    themes: float | None
    whole: bool | None
    empty: bool | None
    milliseconds: float
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Reply:
    """What asking gave."""

    outcome: str
    matched: str | None
    """The accepted wording that the answer holds."""
    text: str
    cited: tuple[str, ...]
    short: str | None
    """The short answer; None where answers have none."""
    short_right: bool | None
    short_f1: float
    milliseconds: float
    verdict: Verdict


@dataclass(slots=True)
class Asked:
    """One question, and what came back."""

    folder: str
    question: Question
    held: bool | None = None
    """Whether some chunk of the files that the answer rests on holds an accepted wording; None for overviews."""
    found: dict[str, Found] = field(default_factory=dict)
    reply: Reply | None = None


def read_questions(folder: Path) -> list[Question]:
    """The questions of a folder.

    Raises:
        InvalidInput: a file is missing or not as it should be.
    """
    try:
        entries = [json.loads(line) for line in _lines(folder / "queries.jsonl")]
        gold: dict[str, list[str]] = {}
        for line in _lines(folder / "qrels.tsv"):
            name, path, grade = line.split("\t")
            if int(grade) >= RESTS_ON:
                gold.setdefault(name, []).append(_composed(path))
        return [
            Question(
                id=entry["_id"],
                text=entry["text"],
                kind=entry["type"],
                language=entry["language"],
                answerable=entry["answerable"],
                accepted=tuple(entry["answer"]),
                gold=tuple(gold.get(entry["_id"], ())),
                themes=tuple(tuple(map(_composed, theme)) for theme in entry.get("themes", ())),
            )
            for entry in entries
        ]
    except (OSError, ValueError, KeyError, TypeError) as cause:
        raise InvalidInput(f"{folder} cannot be read as a set of questions: {cause!r}.") from cause


def _lines(file: Path) -> Iterator[str]:
    return (line for line in file.read_text(encoding="utf-8").splitlines() if line.strip())


def _composed(path: str) -> str:
    """A path as the index writes it: systems differ in how they compose the letters of a name."""
    return unicodedata.normalize("NFC", path)


def normalised(text: str) -> str:
    """Without what answers may differ in: width, case, white space, Markdown marks.

    "**３１０ g**" -> "310g"
    """
    return _MARKS.sub("", unicodedata.normalize("NFKC", text).casefold())


def matching(text: str, accepted: Iterable[str]) -> str | None:
    """The first accepted wording that a text holds; numbers of citations are not part of what it says."""
    said = normalised(_CITATION.sub("", text))
    return next((wording for wording in accepted if normalised(wording) in said), None)


def covered(themes: Sequence[Iterable[str]], files: Iterable[str]) -> float:
    """The share of themes with at least one of their files: [[a, b], [c]] by [b] -> 0.5."""
    there = set(files)
    return sum(not there.isdisjoint(theme) for theme in themes) / len(themes)


def judge_search(question: Question, files: Sequence[str], *, empty: bool, ms: float, verdict: Verdict) -> Found:
    """Hold the files of a search, in order, against those that the answer rests on."""
    plain = question.answerable and question.kind != OVERVIEW
    gold = set(question.gold)
    return Found(
        files=tuple(files),
        recall=len(gold.intersection(files[:FIRST])) / len(gold) if plain else None,
        themes=covered(question.themes, files) if question.kind == OVERVIEW else None,
        whole=gold <= set(files) if question.kind in SEVERAL_FILES else None,
        empty=empty if question.answerable else None,
        milliseconds=ms,
        verdict=verdict,
    )


def judge_answer(question: Question, answer: Answer, cited: Sequence[str], *, ms: float, verdict: Verdict) -> Reply:
    """Right, wrong or refused; refused or answered where the documents hold no answer."""
    matched = None if answer.abstained else matching(answer.text, question.accepted)
    right = covered(question.themes, cited) >= 1 / 2 if question.kind == OVERVIEW else matched is not None
    if answer.abstained:
        outcome = REFUSED
    elif not question.answerable:
        outcome = ANSWERED
    else:
        outcome = RIGHT if right else WRONG
    short = answer.short.text if answer.short else None
    short_right = not answer.abstained and matching(short or "", question.accepted) is not None
    return Reply(
        outcome=outcome,
        matched=matched,
        text=answer.text,
        cited=tuple(cited),
        short=short,
        short_right=short_right if question.accepted else None,
        short_f1=0.0 if answer.abstained else token_f1(short or "", question.accepted),
        milliseconds=ms,
        verdict=verdict,
    )


def measure(folder: Path, index: Path, recipes: Sequence[Recipe], settings: Settings, *, ask: bool) -> list[Asked]:
    """Ask one folder every question in every way.

    Raises:
        InvalidInput: the folder is not as it should be, or a file of it cannot be read in.
    """
    asked = [Asked(folder.name, question) for question in read_questions(folder)]
    corpus = folder / "corpus"
    with Engine.open(index, settings=settings) as engine:
        report = engine.sync(corpus)
        if report.failed:
            raise InvalidInput(f"{len(report.failed)} files were not indexed; the first: {report.failed[0].reason}")
        texts = dict(_chunk_texts(engine, corpus))
        for one in asked:
            one.held = _is_held(one.question, texts)
        engine.answer(folder.name)  # models and dictionaries are loaded by now
        for recipe in recipes:
            for one in asked:
                one.found[recipe.name] = _search(engine, one.question, recipe, corpus)
        for one in asked if ask else ():
            one.reply = _ask(engine, one.question, corpus)
    return asked


def _chunk_texts(engine: Engine, corpus: Path) -> Iterator[tuple[str, list[str]]]:
    """What was read of every file, chunk by chunk."""
    for file in engine.files():
        yield _files([file.name], corpus)[0], [chunk.text for chunk in engine.chunks(file.id)]


def _is_held(question: Question, texts: Mapping[str, Sequence[str]]) -> bool | None:
    if not question.accepted or question.kind == OVERVIEW:
        return None
    return any(matching(text, question.accepted) for file in question.gold for text in texts.get(file, ()))


def _search(engine: Engine, question: Question, recipe: Recipe, corpus: Path) -> Found:
    began = time.perf_counter()
    result = engine.search(question.text, explain=False, limit=LIMIT, **recipe.options())
    ms = _since(began)
    files = _files((item.sources.file_name for item in result.results), corpus)
    return judge_search(question, files, empty=not result.results, ms=ms, verdict=_verdict(result))


def _ask(engine: Engine, question: Question, corpus: Path) -> Reply:
    began = time.perf_counter()
    answer = engine.answer(question.text, limit=LIMIT)
    ms = _since(began)
    # The search that the answer was made from: the engine still has it.
    verdict = _verdict(engine.search(question.text, limit=LIMIT, crag_enabled=True))
    cited = _files((citation.sources.file_name for citation in answer.citations if citation.sources), corpus)
    return judge_answer(question, answer, cited, ms=ms, verdict=verdict)


def _since(began: float) -> float:
    return round(1000 * (time.perf_counter() - began), 1)


def _verdict(result: SearchResult) -> Verdict:
    judged, graded = result.sufficiency, result.crag
    return Verdict(
        sufficient=judged.is_sufficient if judged else None,
        confidence=round(judged.confidence, 4) if judged else None,
        grade=graded.relevance.value if graded else None,
    )


def _files(names: Iterable[str | None], corpus: Path) -> list[str]:
    """Distinct files in order, as paths within the corpus; what comes from no file is left out."""
    root = Path(_composed(str(corpus.absolute())))
    return list(dict.fromkeys(Path(os.path.relpath(name, root)).as_posix() for name in names if name))


GROUPS: Mapping[str, Callable[[Asked], str]] = {
    "kind": lambda one: one.question.kind,
    "folder": lambda one: one.folder,
    "language": lambda one: one.question.language,
    "format": lambda one: _format(one.question),
}


def _format(question: Question) -> str:
    """The ending of the files that the answer rests on; `several` where they differ."""
    endings = {Path(file).suffix.lower() for file in question.gold}
    return endings.pop() if len(endings) == 1 else "several"


def tables(asked: Sequence[Asked]) -> list[Table]:
    """Searches, answers and their times."""
    made = [_held(asked), *(_searches(asked, by) for by in GROUPS)]
    if any(one.reply for one in asked):
        made += [_answers(asked, by) for by in GROUPS]
    return [*made, _times(asked)]


def _grouped(asked: Sequence[Asked], by: str) -> dict[str, list[Asked]]:
    groups: dict[str, list[Asked]] = {}
    for one in asked:
        groups.setdefault(GROUPS[by](one), []).append(one)
    return groups | {"all": list(asked)}


def _held(asked: Sequence[Asked]) -> Table:
    """The share of answers that stand in one chunk: what no chunk says, no search finds."""
    some = [one for one in asked if one.held is not None]
    rows: list[list[object]] = [
        [
            name,
            len(ones),
            _share([float(bool(one.held)) for one in ones]),
            " ".join(o.question.id for o in ones if not o.held),
        ]
        for name, ones in _grouped(some, "format").items()
    ]
    return Table("Answers that stand in one chunk, by format", ["format", "questions", "held %", "not held"], rows)


def _searches(asked: Sequence[Asked], by: str) -> Table:
    modes = list(dict.fromkeys(mode for one in asked for mode in one.found))
    rows: list[list[object]] = []
    for mode in modes:
        for name, some in _grouped([one for one in asked if one.question.answerable], by).items():
            found = [one.found[mode] for one in some]
            shares = [
                _share(values) for values in zip(*((one.recall, one.themes, one.whole) for one in found), strict=True)
            ]
            rows.append([mode, name, len(some), *shares, sum(bool(one.empty) for one in found)])
    columns = ["mode", by, "questions", "recall@5 %", "themes@10 %", "whole@10 %", "empty"]
    return Table(f"Searches by {by}", columns, rows)


def _share(values: Iterable[float | None]) -> str:
    counted = [value for value in values if value is not None]
    return f"{100 * sum(counted) / len(counted):5.1f}" if counted else ""


def _answers(asked: Sequence[Asked], by: str) -> Table:
    rows: list[list[object]] = []
    shorts = any(one.reply and one.reply.short_right is not None for one in asked)
    for name, some in _grouped(asked, by).items():
        outcomes = Counter((one.question.answerable, one.reply.outcome) for one in some if one.reply)
        answerable = [outcomes[True, outcome] for outcome in (RIGHT, WRONG, REFUSED)]
        rest = [outcomes[False, outcome] for outcome in (REFUSED, ANSWERED)]
        known = [one.reply for one in some if one.reply and one.question.answerable and one.question.accepted]
        f1 = f"{100 * sum(reply.short_f1 for reply in known) / len(known):.1f}" if known else ""
        short = [sum(bool(one.reply and one.reply.short_right) for one in some), f1] if shorts else []
        rows.append([name, sum(answerable), *answerable, *short, sum(rest), *rest])
    columns = [by, "answerable", RIGHT, WRONG, REFUSED, *(["right in short", "short F1 %"] if shorts else [])]
    return Table(f"Answers by {by}", [*columns, "unanswerable", REFUSED, ANSWERED], rows)


def _times(asked: Sequence[Asked]) -> Table:
    taken: dict[str, list[float]] = {}
    for one in asked:
        for mode, found in one.found.items():
            taken.setdefault(mode, []).append(found.milliseconds)
        if one.reply:
            taken.setdefault("ask", []).append(one.reply.milliseconds)
    rows = [[what, len(ms), *(round(float(np.percentile(ms, p))) for p in (50, 95))] for what, ms in taken.items()]
    return Table("Milliseconds", ["what", "questions", "p50", "p95"], rows)


def _setting(text: str) -> tuple[str, object]:
    """ "verify.min_confidence=0.2" -> ("verify.min_confidence", 0.2)."""
    key, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"write KEY=VALUE, not {text!r}")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def main(arguments: list[str] | None = None) -> int:
    """Measure the folders and print tables; 2 where something that was given cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.everyday", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="the folders of the set")
    parser.add_argument("--folders", type=_names, default=[], metavar="NAMES", help="only these, with commas between")
    parser.add_argument("--modes", type=_names, default=["hybrid"], metavar="NAMES", help="recipes; hybrid by default")
    parser.add_argument("--ask", action="store_true", help="ask for answers too")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="indexes stay here and are not built again")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where every question goes with what came back")
    parser.add_argument("--settings", type=_setting, nargs="+", default=[], metavar="KEY=VALUE", help="other settings")
    options = parser.parse_args(arguments)
    asked: list[Asked] = []
    try:
        # One search is kept, so that what an answer was made from can be looked at without searching again.
        overrides = {"search.cache_size": 1, **dict(options.settings)}
        settings = load_settings(env={}, overrides=overrides).settings
        recipes = find_recipes(options.modes)
        folders = options.folders or sorted(file.parent.name for file in options.data.glob("*/queries.jsonl"))
        if not folders:
            raise InvalidInput(f"There is no folder with a queries.jsonl in {options.data}.")
        with tempfile.TemporaryDirectory() as temporary:
            for name in folders:
                print(f"{name} ...", file=sys.stderr, flush=True)
                index = (options.keep or Path(temporary)) / name
                index.parent.mkdir(parents=True, exist_ok=True)
                asked += measure(options.data / name, index, recipes, settings, ask=options.ask)
    except RAGError as error:
        print(error, file=sys.stderr)
        return 2
    print(machine_line())
    made = tables(asked)
    for table in made:
        table.print()
    if options.json:
        content = {"tables": [table.as_json() for table in made], "questions": [asdict(one) for one in asked]}
        options.json.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
