"""Comparing with other libraries: the same chunks, the same vectors, and a reason for whoever cannot run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.peers.compare import Contender, _quality, _run, answerable
from benchmarks.peers.install import PEERS, CannotRun, last_line
from benchmarks.peers.keep import KeptEmbedder
from benchmarks.peers.made import make_dataset
from benchmarks.peers.prepare import embed_wanted, prepare
from benchmarks.peers.runners.common import Job, peak_mib, time_build, time_search

from hybridrag.config import Settings, load_settings
from hybridrag.evaluate.datasets import Dataset, load_dataset
from hybridrag.testing.embedders import HashEmbedder

ROOT = Path(__file__).resolve().parents[2]
MUCH = 300 << 20
"""Bytes: more than a small process ever holds."""


@pytest.fixture
def settings() -> Settings:
    overrides = {"documents.isolate": False, "graph.extractor": "light", "embedding.provider": "fake"}
    return load_settings(env={}, overrides=overrides).settings


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    folder = tmp_path / "harbour"
    folder.mkdir()
    documents = [
        {"_id": "d1", "title": "Marten Lighthouse", "text": "Marten Lighthouse was designed by Ada Bell in 1874."},
        {"_id": "d2", "title": "灯台", "text": "灯台は北の港にある。田中太郎が灯台を設計した。"},
    ]
    queries = [
        {"_id": "q1", "text": "Who designed Marten Lighthouse?"},
        {"_id": "q2", "text": "灯台はどこにありますか"},
        {"_id": "q3", "text": "Who was the first keeper?", "answerable": False},
    ]
    for name, rows in (("corpus", documents), ("queries", queries)):
        lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        (folder / f"{name}.jsonl").write_text(lines + "\n", encoding="utf-8")
    (folder / "qrels.tsv").write_text("q1\td1\t1\nq2\td2\t1\n", encoding="utf-8")
    return answerable(load_dataset(folder))


def test_questions_without_an_answer_are_not_asked_of_those_who_cannot_say_so(dataset: Dataset) -> None:
    assert [query.id for query in dataset.queries] == ["q1", "q2"]


def test_a_kept_vector_is_computed_once_and_is_the_models_own(tmp_path: Path) -> None:
    first = KeptEmbedder(tmp_path / "kept.db", HashEmbedder)
    made = first.embed_passages(["a lighthouse", "a harbour", "a lighthouse"], tokens=True)
    first.embed_query("a lighthouse")
    assert first.computed == 3  # a question is not embedded as a passage is
    first.close()
    second = KeptEmbedder(tmp_path / "kept.db", HashEmbedder)
    again = second.embed_passages(["a harbour", "a lighthouse"], tokens=True)
    assert second.computed == 0
    np.testing.assert_array_equal(again.pooled, made.pooled[[1, 0]])
    real = HashEmbedder().embed_passages(["a harbour"], tokens=True)
    assert real.tokens is not None
    assert again.tokens is not None
    np.testing.assert_allclose(again.tokens[0], real.tokens[0], atol=1e-3)
    assert second.embed_passages([]).pooled.shape == (0, second.info.dimension)
    second.close()


def test_a_job_holds_every_chunk_with_its_document_its_vector_and_what_it_says(
    dataset: Dataset, settings: Settings, tmp_path: Path
) -> None:
    made = prepare(dataset, tmp_path / "job", settings)
    job = Job.read(tmp_path / "job")
    assert made["chunks"] == len(job.chunks) == len(job.vectors()) == 2
    assert sorted(job.documents([0, 1])) == ["d1", "d2"]
    assert len(job.query_vectors()) == len(job.queries) == 2
    said = job.knowledge()
    assert {"Marten Lighthouse", "Ada Bell"} <= {entity["name"] for entity in said["entities"]}
    assert all(job.chunks[number] for entity in said["entities"] for number in entity["chunks"])


def test_a_language_without_spaces_has_its_words_split_for_those_who_cannot(
    dataset: Dataset, settings: Settings, tmp_path: Path
) -> None:
    prepare(dataset, tmp_path / "job", settings)
    assert Job.read(tmp_path / "job").question(1) == "灯台はどこにありますか"
    assert Job.read(tmp_path / "job", "words").question(1).split()[:2] == ["灯台", "は"]


def test_texts_that_a_library_makes_itself_get_vectors_too(
    dataset: Dataset, settings: Settings, tmp_path: Path
) -> None:
    job = tmp_path / "job"
    prepare(dataset, job, settings)
    embed_wanted(job, ["document Ada Bell", "query Ada Bell"], job / "more.npy", settings)
    embed_wanted(job, ["document Marten"], job / "more.npy", settings)
    texts = json.loads((job / "more.json").read_text(encoding="utf-8"))
    assert texts == ["document Ada Bell", "query Ada Bell", "document Marten"]
    assert len(np.load(job / "more.npy")) == 3


def test_a_library_is_built_on_disk_and_then_asked_every_question(
    dataset: Dataset, settings: Settings, tmp_path: Path
) -> None:
    prepare(dataset, tmp_path / "job", settings)
    job, index = Job.read(tmp_path / "job"), tmp_path / "index.npy"
    built = time_build(job, index, lambda job, path: np.save(path, job.vectors()))
    asked = time_search(job, index, lambda job, _: lambda number, limit: job.documents([number, number])[:limit])
    assert built["bytes"] == index.stat().st_size > 0
    assert len(asked["times_ms"]) == len(asked["rankings"]) == 2
    assert all(len(ranking) == 1 for ranking in asked["rankings"])
    # Once the start of the clock was taken for the start of the day.
    assert 0 <= asked["open_ms"] + asked["first_ms"] < 60_000
    assert peak_mib() > 1


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Elsewhere a process has no such file.")
def test_the_peak_of_memory_is_the_process_s_own_and_not_that_of_whoever_started_it() -> None:
    held = bytearray(b"x" * MUCH)
    command = [sys.executable, "-c", "from benchmarks.peers.runners.common import peak_mib; print(peak_mib())"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    assert 1 < float(done.stdout) < len(held) / 2**20


def test_quality_is_the_mean_over_the_questions(dataset: Dataset) -> None:
    assert _quality(dataset, [["d1"], ["d1", "d2"]]) == ["1.000", "1.000", "0.815", "0.750"]


def test_a_library_that_cannot_run_is_reported_with_what_it_said_last(tmp_path: Path) -> None:
    missing = Contender("missing", (sys.executable, "-m", "benchmarks.peers.runners.missing"), (("", "missing"),))
    with pytest.raises(CannotRun, match=r"missing did not build: .*No module named"):
        _run(missing, "build", "", tmp_path, tmp_path / "indexes" / "missing")
    assert last_line("a\n\nb\n \n") == "b"
    assert last_line("") == "it said nothing"


def test_the_table_names_the_version_that_is_installed() -> None:
    for peer in PEERS:
        version = peer.requirements[-1 if peer.name == "txtai" else 0].partition("==")[2]
        assert version in peer.label


@pytest.mark.heavy
def test_a_data_set_of_any_size_can_be_made_and_its_passages_need_no_model(tmp_path: Path, settings: Settings) -> None:
    made = load_dataset(make_dataset(6, tmp_path / "made"))
    assert len(made.documents) == 6
    prepare(made, tmp_path / "job", settings, made_up=True)
    job = Job.read(tmp_path / "job")
    np.testing.assert_allclose(np.linalg.norm(job.vectors(), axis=1), 1.0, atol=1e-5)
    assert len(job.query_vectors()) == len(made.queries)
