"""What the benchmarks are made of: tables, places in documents, corpora, parts of the work."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from benchmarks.__main__ import BENCHMARKS, CannotRun, measure
from benchmarks.bench_corpus import documents, questions
from benchmarks.bench_engine import PARTS, Parts, build, search
from benchmarks.report import Table, write_between

from hybridrag.language.detect import detect


def test_a_table_is_written_for_a_page_with_its_numbers_to_the_right() -> None:
    table = Table("Speed", ["what", "p50 ms"], [["search", 12.5], ["open", 3]])
    assert table.as_markdown() == "| what | p50 ms |\n| --- | ---: |\n| search | 12.5 |\n| open | 3 |"


def test_a_measured_table_takes_the_place_of_the_one_before_and_leaves_the_rest(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- a -->\nold\n<!-- /a -->\nafter\n", encoding="utf-8")
    write_between(page, "a", "new")
    assert page.read_text(encoding="utf-8") == "before\n<!-- a -->\n\nnew\n\n<!-- /a -->\nafter\n"
    write_between(page, "a", "new")
    assert page.read_text(encoding="utf-8").count("new") == 1


def test_a_page_without_a_place_for_the_table_says_what_to_write_into_it(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing\n", encoding="utf-8")
    with pytest.raises(ValueError, match="write <!-- a --> and <!-- /a --> into it"):
        write_between(page, "a", "new")


@pytest.mark.heavy
def test_documents_that_are_made_are_always_the_same_and_of_both_languages() -> None:
    made = list(documents(40))
    assert made == list(documents(40))
    assert len({title for title, _ in made}) == 40
    assert {detect(text) for _, text in made} == {"en", "ja"}


def test_questions_are_asked_in_the_language_of_the_title() -> None:
    assert questions(["Ada Lovelace"], 1) == ["What is Ada Lovelace?"]
    assert questions(["東京大学", ""], 1) == ["東京大学とは何ですか"]


def test_a_part_within_another_counts_once() -> None:
    parts = Parts()
    began = time.perf_counter()
    with parts.part("store"):
        with parts.part("embed"):
            sum(range(100_000))
        sum(range(100_000))
    whole = time.perf_counter() - began
    assert set(parts.seconds) == {"store", "embed"}
    assert sum(parts.seconds.values()) <= whole


def test_what_was_watched_is_as_before_afterwards() -> None:
    class Worker:
        def work(self, amount: int) -> int:
            return amount + 1

    parts, original = Parts(), Worker.work
    restore = parts.watch(Worker, "work", "store")
    assert Worker().work(2) == 3
    assert parts.seconds["store"] > 0
    restore()
    assert Worker.work is original


@pytest.mark.heavy
def test_every_part_of_taking_in_and_every_way_of_searching_is_measured(tmp_path: Path) -> None:
    built = build(12, tmp_path, None, made_up=True)
    assert built["chunks"] >= 12
    assert {part for part in PARTS if built["parts"][part] > 0} == set(PARTS)
    asked = search(12, tmp_path, None, made_up=True, count=2)
    assert {"keyword", "semantic", "graph", "rerank"} <= set(asked["ways"]["hybrid"]["steps"])


def test_a_benchmark_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(CannotRun, match=f"Known: {', '.join(BENCHMARKS)}"):
        measure("nothing")
