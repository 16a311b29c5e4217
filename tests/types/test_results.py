"""The command behind docs/results.md: sets, kept runs, tables, and what is missed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from benchmarks.results import PARTS, main, put
from benchmarks.results_index import measure_apart
from benchmarks.results_misses import LINKED, NAMED, NAMESAKE, NO_START, UNLINKED, find_misses, kind_of
from benchmarks.results_run import BY_SCORE, LATE, QUALITY, RRF, SMALL_ALONE, Keep, kept_run, names_of, run_set
from benchmarks.results_sets import LOCAL, RELATIONSHIP, SETS, ResultSet, answerable, merge, plain, without_titles
from benchmarks.results_tables import Measured, accuracy, merged_losses, tables
from benchmarks.themes import Case, covered

from hybridrag.evaluate import EvalRun, load_dataset
from hybridrag.evaluate.runs import AskedQuery, QueryOutcome, RecipeRun
from hybridrag.testing.embedders import HashEmbedder
from hybridrag.types.sources import TextDocument

DOCUMENTS = [
    {"_id": "1", "title": "Quiet Harbour (film)", "text": "Quiet Harbour is a film by Ada Berg."},
    {"_id": "2", "title": "Ada Berg", "text": "Ada Berg was born in Northgate in 1901."},
    {"_id": "3", "title": "Northgate", "text": "Northgate is a town on the Lysa."},
    {"_id": "4", "title": "Jon Falk", "text": "Jon Falk sold herring on the market for forty years."},
]
QUERIES = [
    {"_id": "a", "text": "Where was the director of Quiet Harbour born?", "type": "compositional"},
    {"_id": "b", "text": "What did Jon Falk sell?", "type": "comparison"},
    {"_id": "c", "text": "Who painted Northgate?", "answerable": False},
]
Rankings = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Recipe -> question -> documents, best first."""
MARKS = [("a", "1"), ("a", "2"), ("b", "4")]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder of data with two small sets."""
    for name in ("hotpotqa_train100", "2wikimultihopqa"):
        folder = tmp_path / "data" / name
        folder.mkdir(parents=True)
        (folder / "corpus.jsonl").write_text("".join(f"{json.dumps(it)}\n" for it in DOCUMENTS), encoding="utf-8")
        (folder / "queries.jsonl").write_text("".join(f"{json.dumps(it)}\n" for it in QUERIES), encoding="utf-8")
        rows = "".join(f"{query}\t{document}\t1\n" for query, document in MARKS)
        (folder / "qrels.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}", encoding="utf-8")
    return tmp_path / "data"


def _run(name: str, rankings: Rankings, gold: Mapping[str, dict[str, int]]) -> EvalRun:
    """A run whose recipes ranked as given."""
    queries = tuple(
        AskedQuery(id=query, text="Where was the director of Quiet Harbour born?", type="t", gold=marks)
        for query, marks in gold.items()
    )
    recipes = tuple(
        RecipeRun(name=recipe, outcomes=tuple(QueryOutcome(query=it, ranking=ranked.get(it, ())) for it in gold))
        for recipe, ranked in rankings.items()
    )
    return EvalRun(
        dataset=name, fingerprint="", made=datetime(2026, 1, 1, tzinfo=UTC), queries=queries, recipes=recipes
    )


# Sets


def test_a_document_that_two_sets_hold_is_merged_once_and_found_for_both(data: Path) -> None:
    whole = merge([load_dataset(data / name) for name in ("2wikimultihopqa", "hotpotqa_train100")])
    assert [document.name for document in whole.documents] == [f"2wikimultihopqa/{number}" for number in "1234"]
    marks = {query.id: set(query.gold) for query in whole.queries if query.gold}
    assert marks["hotpotqa_train100/b"] == marks["2wikimultihopqa/b"] == {"2wikimultihopqa/4"}


def test_a_set_without_titles_has_none_on_any_document(data: Path) -> None:
    bare = without_titles("2wikimultihopqa")(data)
    assert {document.title for document in bare.documents} == {None}
    assert bare.documents[0].text == DOCUMENTS[0]["text"]


def test_only_answerable_questions_are_left_where_they_are_asked_for(data: Path) -> None:
    assert [query.id for query in answerable("2wikimultihopqa")(data).queries] == ["a", "b"]


def test_every_set_is_measured_by_something_and_named_once() -> None:
    assert len({one.name for one in SETS}) == len(SETS)
    assert {one.metric for one in SETS} <= {"Recall@5", "Recall@10", "nDCG@10"}
    assert {one.kind for one in SETS} == {None, LOCAL, RELATIONSHIP}


# Runs


@pytest.mark.heavy
def test_a_set_is_asked_in_every_way_once_and_kept_until_the_questions_change(data: Path, tmp_path: Path) -> None:
    keep, said = Keep(tmp_path / "cache"), list[str]()
    chosen = ResultSet("hotpotqa_train100", plain("hotpotqa_train100"))
    embedder = HashEmbedder()
    first = run_set(chosen, data, keep, embedder=embedder, say=said.append)
    assert [recipe.name for recipe in first.recipes] == names_of(chosen)
    assert {f"{RRF}hybrid", "no-graph", "corrective"} <= {recipe.name for recipe in first.recipes}
    assert len(BY_SCORE) == 7
    again = run_set(chosen, data, keep, embedder=embedder, say=said.append)
    assert (again.made, "kept" in said[-1]) == (first.made, True)
    assert kept_run(chosen, data, keep) == first
    fewer = run_set(chosen, data, keep, limit=1, embedder=embedder, say=said.append)
    assert len(fewer.queries) == 1
    assert kept_run(chosen, data, keep) is None


@pytest.mark.heavy
def test_the_command_writes_the_tables_of_what_it_measured(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = tmp_path / "results.md"
    document.write_text(Path("docs/results.md").read_text(encoding="utf-8"), encoding="utf-8")
    cache = str(tmp_path / "cache")
    options = ["--data", str(data), "--cache", cache, "--sets", "2wikimultihopqa", "--write", str(document)]
    assert main(options, embedder=HashEmbedder()) == 0
    written = document.read_text(encoding="utf-8")
    assert "| 2wikimultihopqa | Recall@5 | 96.0 |" in written
    assert written.count("## Targets") == 1
    assert "## stages" in capsys.readouterr().out
    assert main(options, embedder=HashEmbedder()) == 0  # tables are replaced, not added
    assert document.read_text(encoding="utf-8").count("| 2wikimultihopqa | Recall@5 | 96.0 |") == 1


def test_a_set_that_is_not_there_is_one_sentence_and_the_others_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--data", str(tmp_path), "--cache", str(tmp_path / "cache"), "--sets", "scifact"]
    assert main(options, embedder=HashEmbedder()) == 1
    assert "There is no folder" in capsys.readouterr().err


@pytest.mark.heavy
def test_indexing_is_measured_in_a_process_of_its_own_with_the_real_model(data: Path, tmp_path: Path) -> None:
    found = measure_apart(data / "2wikimultihopqa", tmp_path / "index")
    assert (found["documents"], found["failed"], found["chunks"], found["llm_tokens"]) == (4, 0, 4, 0)
    assert all(float(str(found[name])) > 0 for name in ("seconds", "peak_mib", "size_mib", "entities"))


# Tables


def test_targets_name_what_is_met_and_what_is_not() -> None:
    chosen = ResultSet("s", plain("s"), target=0.5)
    gold = {"a": {"1": 1}, "b": {"2": 1}}
    found = _run("s", {"hybrid": {"a": ("1",)}, "semantic": {}}, gold)
    assert "| s | Recall@5 | 50.0 | 50.0 [0.0, 100.0] | yes |" in tables(Measured([(chosen, found)]))["targets"]
    missed = _run("s", {"hybrid": {}}, gold)
    assert "| **no** |" in tables(Measured([(chosen, missed)]))["targets"]


def test_what_a_stage_adds_is_the_difference_question_by_question() -> None:
    chosen = ResultSet("s", plain("s"))
    gold = {"a": {"1": 1}, "b": {"2": 1}}
    ways: Rankings = {"no-graph": {}, "hybrid-no-rerank": {"a": ("1",), "b": ("2",)}, "keyword": {}, "semantic": {}}
    made = tables(Measured([(chosen, _run("s", ways, gold))]))["adds"]
    assert "| s | +0.0 [+0.0, +0.0] | **+100.0 [+100.0, +100.0]** | - | - |" in made


def test_fusion_holds_score_against_rrf() -> None:
    chosen = ResultSet("s", plain("s"))
    ways: Rankings = {"hybrid": {"a": ("1",)}, f"{RRF}hybrid": {}}
    made = tables(Measured([(chosen, _run("s", ways, {"a": {"1": 1}}))]))["fusion"]
    assert "| 100.0 | 0.0 | **+100.0 [+100.0, +100.0]** |" in made
    assert "| mean of the sets |" in made


def test_rerankers_are_held_against_late_interaction_and_averaged_by_language() -> None:
    chosen = ResultSet("s", plain("s"), reranked=True, about="facts, Japanese")
    ways: Rankings = {"hybrid": {"a": ("1",)}, "hybrid-no-rerank": {}, LATE: {}, SMALL_ALONE: {}, QUALITY: {}}
    made = tables(Measured([(chosen, _run("s", ways, {"a": {"1": 1}}))]))["reranking"]
    assert "| s, MRR@10 | 0.0 | 0.0 | 0.0 | 100.0 | 0.0 | **+100.0 [+100.0, +100.0]** |" in made
    assert "| mean, Japanese, nDCG@10 | 0.0 | 0.0 | 0.0 | 100.0 | 0.0 | +100.0 |" in made
    assert set(names_of(chosen)) - set(names_of(ResultSet("s", plain("s")))) == {LATE, SMALL_ALONE, QUALITY}


def test_the_merged_corpus_is_compared_with_each_set_alone() -> None:
    alone = _run("2wikimultihopqa", {"hybrid": {"a": ("1",)}}, {"a": {"1": 1}})
    both = _run("merged", {"hybrid": {}}, {"2wikimultihopqa/a": {"2wikimultihopqa/1": 1}})
    sets = {one.name: one for one in SETS}
    measured = Measured([(sets["2wikimultihopqa"], alone), (sets["merged"], both)])
    assert merged_losses(measured)["2wikimultihopqa"].mean == -1.0
    assert "-2.0 points at most" in tables(measured)["targets"]


def test_overall_accuracy_is_the_mean_of_the_three_kinds() -> None:
    local = ResultSet("l", plain("l"), kind=LOCAL)
    relation = ResultSet("r", plain("r"), kind=RELATIONSHIP)
    gold = {"a": {"1": 1, "2": 1}}
    measured = Measured(
        [
            (local, _run("l", {"hybrid": {"a": ("1", "2")}}, gold)),
            (relation, _run("r", {"hybrid": {"a": ("1",)}}, gold)),
        ],
        themes={"sample": {"semantic": [0.0, 0.0], "hybrid": [0.5, 0.7]}},
    )
    kinds, total = accuracy(measured, "hybrid")
    assert {kind: round(value.mean, 3) for kind, value in kinds.items()} == {
        "local": 1.0,
        "relationship": 0.0,
        "global": 0.6,
    }
    assert total is not None
    assert round(total.mean, 3) == round(1.6 / 3, 3)
    assert total.low <= total.mean <= total.high
    assert accuracy(Measured(measured.runs), "hybrid")[1] is None


def test_indexing_is_a_table_of_its_own() -> None:
    found = {"documents": 6119, "chunks": 7357, "seconds": 200.1, "processor_seconds": 380.0, "llm_tokens": 0}
    found |= {"peak_mib": 900, "size_mib": 46.0, "entities": 100, "facts": 10}
    assert "| tokens of an LLM | 0 |" in tables(Measured(index=found))["index"]
    assert tables(Measured())["index"] == "(not measured)"


def test_tables_take_the_place_between_their_markers() -> None:
    document = "Before.\n<!-- a -->\nold\n<!-- /a -->\nAfter.\n"
    once = put(document, {"a": "| new |"})
    assert once == "Before.\n<!-- a -->\n\n| new |\n\n<!-- /a -->\nAfter.\n"
    assert put(once, {"a": "| new |"}) == once
    with pytest.raises(SystemExit, match="no place for the table 'b'"):
        put(document, {"b": ""})


def test_the_document_has_a_place_for_every_table_and_names_its_command() -> None:
    document = Path("docs/results.md").read_text(encoding="utf-8")
    put(document, tables(Measured()))
    assert "python -m benchmarks.results --data DIR" in document
    assert {"themes", "index"} <= set(PARTS)


# Misses


def test_a_miss_is_told_by_how_question_and_documents_speak_of_it() -> None:
    film, ada, town, jon = (TextDocument(it["_id"], it["text"], title=it["title"]) for it in DOCUMENTS)
    question = "Where was the director of Quiet Harbour born?"
    assert kind_of(question, film, [], [film], namesakes=0) == NAMED
    assert kind_of(question, film, [], [film], namesakes=1) == NAMESAKE
    assert kind_of(question, ada, [film], [ada], namesakes=0) == LINKED
    assert kind_of(question, ada, [], [film, ada], namesakes=0) == NO_START
    assert kind_of(question, town, [film], [town], namesakes=0) == UNLINKED
    assert kind_of(question, jon, [film, ada], [jon], namesakes=0) == UNLINKED


def test_misses_are_counted_by_kind_type_and_rank() -> None:
    documents = [TextDocument(it["_id"], it["text"], title=it["title"]) for it in DOCUMENTS]
    ranking = ("1", "x", "x2", "x3", "x4", "2")
    run = _run("2wikimultihopqa", {"hybrid": {"a": ranking}}, {"a": {"1": 1, "2": 1}})
    misses = find_misses(run, "hybrid", documents)
    assert [(miss.document, miss.kind, miss.rank) for miss in misses] == [("2", LINKED, 6)]
    assert f"| {LINKED} | 1 | 1 | 1 | 0 | 0 |" in tables(Measured(misses=misses))["misses"]


# Themes


def test_a_theme_is_covered_by_any_of_its_documents_among_the_first_results() -> None:
    case = Case("What is it about?", (frozenset({"a", "b"}), frozenset({"c"})), "default")
    found = [[frozenset({"b"}), frozenset({"d"}), frozenset({"c"})]]
    assert covered([case], found, 2) == [0.5]
    assert covered([case], found, 3) == [1.0]
