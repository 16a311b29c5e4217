"""Data sets: what is read from a folder, and what is said of a folder that is wrong."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from hybridrag.errors import InvalidInput
from hybridrag.evaluate.datasets import load_dataset
from hybridrag.types.queries import QueryType

CORPUS: list[dict[str, object]] = [
    {"_id": "d1", "title": "Fees", "text": "The fee is twelve crowns.", "metadata": {"url": "x"}},
    {"_id": 2, "title": "", "text": "霧笛は二度鳴る。"},
]
QUERIES: list[dict[str, object]] = [
    {"_id": "q1", "text": "What is the fee?", "answer": "twelve crowns", "type": "local"},
    {"_id": 2, "text": "霧笛は何度鳴る？", "answer": ["二度", "2回"], "intent": "local", "type": "claim"},
]
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\t2\t0\n2\t2\t1\n"


def write_lines(file: Path, entries: Sequence[Mapping[str, object]]) -> None:
    text = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
    file.write_bytes(gzip.compress(text.encode()) if file.suffix == ".gz" else text.encode())


def make(
    folder: Path,
    *,
    corpus: Sequence[Mapping[str, object]] = CORPUS,
    queries: Sequence[Mapping[str, object]] = QUERIES,
    qrels: str = QRELS,
    packed: bool = False,
) -> Path:
    folder.mkdir(exist_ok=True)
    ending = ".gz" if packed else ""
    write_lines(folder / f"corpus.jsonl{ending}", corpus)
    write_lines(folder / f"queries.jsonl{ending}", queries)
    if qrels:
        (folder / "qrels.tsv").write_text(qrels)
    return folder


class TestReading:
    @pytest.mark.parametrize("packed", [False, True])
    def test_documents_queries_and_grades_are_read_plain_or_packed(self, tmp_path: Path, packed: bool) -> None:
        dataset = load_dataset(make(tmp_path / "fees", packed=packed))
        assert dataset.name == "fees"
        assert [(document.name, document.title) for document in dataset.documents] == [("d1", "Fees"), ("2", None)]
        first, second = dataset.queries
        assert first.gold == {"d1": 2, "2": 0}
        assert first.marked == {"d1"}
        assert (first.type, first.intent, first.language) == ("local", QueryType.LOCAL, "en")
        assert (second.type, second.intent, second.language) == ("claim", QueryType.LOCAL, "ja")
        assert second.answers == ("二度", "2回")
        assert dataset.document_id("d1") == "d1"
        assert dataset.has_corpus

    @pytest.mark.parametrize("qrels", ["q1\td1\t1\n", "q1 0 d1 1\n", "qid\tdocid\trel\nq1\td1\t1.0\r\n\n"])
    def test_qrels_may_lack_a_heading_or_be_those_of_trec(self, tmp_path: Path, qrels: str) -> None:
        dataset = load_dataset(make(tmp_path, qrels=qrels))
        assert [query.gold for query in dataset.queries] == [{"d1": 1}]
        assert dataset.notes == ("1 of 2 queries have nothing marked and were left out.",)

    def test_of_several_splits_test_is_taken_unless_one_is_named(self, tmp_path: Path) -> None:
        make(tmp_path, qrels="")
        (tmp_path / "qrels").mkdir()
        (tmp_path / "qrels" / "test.tsv").write_text("q1\td1\t1\n")
        (tmp_path / "qrels" / "dev.tsv").write_text("2\t2\t1\n")
        assert [query.id for query in load_dataset(tmp_path).queries] == ["q1"]
        assert [query.id for query in load_dataset(tmp_path, split="dev").queries] == ["2"]
        with pytest.raises(InvalidInput, match="no qrels named 'train'; there are dev, test"):
            load_dataset(tmp_path, split="train")

    @pytest.mark.parametrize("marks", [{"type": "unanswerable"}, {"answerable": False}, {"intent": "null"}])
    def test_an_unanswerable_question_needs_no_document(self, tmp_path: Path, marks: dict[str, object]) -> None:
        dataset = load_dataset(make(tmp_path, queries=[{"_id": "q", "text": "Why?", **marks}], qrels=""))
        assert not dataset.queries[0].answerable
        assert dataset.queries[0].is_scored

    def test_themes_are_lists_of_documents_named_or_not(self, tmp_path: Path) -> None:
        themes = [["d1"], {"name": "fog", "documents": [2, "d1"]}]
        queries = [{"_id": "q", "text": "What is it all about?", "type": "global", "themes": themes}]
        query = load_dataset(make(tmp_path, queries=queries, qrels="")).queries[0]
        assert query.themes == (("d1",), ("2", "d1"))
        assert query.marked == {"d1", "2"}

    def test_a_limit_takes_the_same_queries_always_and_keeps_their_order(self, tmp_path: Path) -> None:
        queries = [{"_id": f"q{number}", "text": "Why?", "answerable": False} for number in range(50)]
        dataset = load_dataset(make(tmp_path, queries=queries, qrels=""))
        some = dataset.first(10)
        assert some == dataset.first(10)
        assert [query.id for query in some.queries] != [query.id for query in dataset.queries[:10]]
        places = [dataset.queries.index(query) for query in some.queries]
        assert places == sorted(places)
        assert len(places) == 10
        assert some.notes == ("10 of 50 queries were asked.",)
        assert dataset.first(None) is dataset.first(50) is dataset

    def test_the_fingerprint_changes_with_a_question_or_a_mark(self, tmp_path: Path) -> None:
        before = load_dataset(make(tmp_path / "a")).fingerprint
        assert load_dataset(make(tmp_path / "b")).fingerprint == before
        assert load_dataset(make(tmp_path / "c", qrels=QRELS.replace("d1\t2", "d1\t1"))).fingerprint != before


class TestFiles:
    def test_a_folder_of_files_is_a_corpus_whose_ids_are_paths(self, tmp_path: Path) -> None:
        make(tmp_path, qrels="q1\ten/a.md\t1\n")
        (tmp_path / "corpus.jsonl").unlink()
        (tmp_path / "corpus" / "en").mkdir(parents=True)
        (tmp_path / "corpus" / "en" / "a.md").write_text("# Fees")
        (tmp_path / "corpus" / ".hidden").write_text("no")
        dataset = load_dataset(tmp_path)
        assert dataset.files == (tmp_path / "corpus" / "en" / "a.md",)
        assert dataset.document_id(str(dataset.files[0])) == "en/a.md"
        assert dataset.document_id("elsewhere") == "elsewhere"

    def test_questions_beside_the_documents_take_the_folder_above_without_themselves(self, tmp_path: Path) -> None:
        (tmp_path / "en").mkdir()
        (tmp_path / "en" / "a.md").write_text("# Fees")
        make(tmp_path / "questions", qrels="q1\ten/a.md\t1\n")
        (tmp_path / "questions" / "corpus.jsonl").unlink()
        dataset = load_dataset(tmp_path / "questions")
        assert dataset.files == (tmp_path / "en" / "a.md",)
        assert dataset.name == f"{tmp_path.name}/questions"

    def test_another_folder_may_be_named(self, tmp_path: Path) -> None:
        make(tmp_path / "questions", qrels="q1\ta.md\t1\n")
        (tmp_path / "documents").mkdir()
        (tmp_path / "documents" / "a.md").write_text("# Fees")
        dataset = load_dataset(tmp_path / "questions", files=tmp_path / "documents")
        assert dataset.files == (tmp_path / "documents" / "a.md",)
        assert dataset.documents == ()
        with pytest.raises(InvalidInput, match=r"no folder .*nowhere to take documents from"):
            load_dataset(tmp_path / "questions", files=tmp_path / "nowhere")

    def test_without_any_corpus_an_index_has_to_hold_the_documents(self, tmp_path: Path) -> None:
        make(tmp_path / "questions")
        (tmp_path / "questions" / "corpus.jsonl").unlink()
        assert not load_dataset(tmp_path / "questions").has_corpus


class TestWrongInput:
    @pytest.mark.parametrize(
        ("file", "content", "message"),
        [
            ("corpus.jsonl", '{"_id": "1", "text": "a"}\n{"_id"\n', "corpus.jsonl, line 2: is not valid JSON"),
            ("corpus.jsonl", "\n[1]\n", "corpus.jsonl, line 2: must be an object"),
            ("corpus.jsonl", '{"text": "a"}\n', "corpus.jsonl, line 1: `_id` is missing"),
            ("corpus.jsonl", '{"_id": "1", "text": 3}\n', "corpus.jsonl, line 1: `text` must be a text"),
            ("corpus.jsonl", '{"_id": "1", "text": "", "title": 3}\n', "line 1: `title` must be a text"),
            (
                "corpus.jsonl",
                '{"_id": "1", "text": "a"}\n\n{"_id": 1, "text": "b"}\n',
                "corpus.jsonl, line 3: the id '1' was given before, on line 1",
            ),
            ("queries.jsonl", '{"_id": "q1", "text": " "}\n', "queries.jsonl, line 1: `text` must be a question"),
            ("queries.jsonl", '{"_id": "q", "text": "a", "type": 3}\n', "line 1: `type` must be a text"),
            ("queries.jsonl", '{"_id": "q", "text": "a", "answer": 3}\n', "`answer` must be a text or a list"),
            ("queries.jsonl", '{"_id": "q", "text": "a", "answerable": "no"}\n', "`answerable` must be true or false"),
            ("queries.jsonl", '{"_id": "q", "text": "a", "themes": "x"}\n', "`themes` must be a list of lists"),
            ("queries.jsonl", '{"_id": "q", "text": "a", "themes": [[]]}\n', "each of `themes` must be a list"),
            ("qrels.tsv", "q1\td1\n", "qrels.tsv, line 1: must be query-id, corpus-id and score, found 2 columns"),
            ("qrels.tsv", "a\tb\tc\nq1\td1\tyes\n", "qrels.tsv, line 2: the score must be a whole number, found 'yes'"),
            ("qrels.tsv", "q1\tdx\t1\n", "None of the 1 marked documents is in the corpus; the first is 'dx'"),
            ("qrels.tsv", "qx\td1\t1\n", "no query can be scored"),
        ],
    )
    def test_a_wrong_line_is_one_sentence_that_names_it(
        self, tmp_path: Path, file: str, content: str, message: str
    ) -> None:
        make(tmp_path)
        (tmp_path / file).write_text(content)
        with pytest.raises(InvalidInput) as caught:
            load_dataset(tmp_path)
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_bytes_that_are_no_text_and_archives_that_are_cut_are_named(self, tmp_path: Path) -> None:
        make(tmp_path, packed=True)
        packed = (tmp_path / "corpus.jsonl.gz").read_bytes()
        (tmp_path / "corpus.jsonl.gz").write_bytes(packed[:-12])
        with pytest.raises(InvalidInput, match=r"corpus.jsonl.gz: is damaged after line \d"):
            load_dataset(tmp_path)
        (tmp_path / "corpus.jsonl.gz").write_bytes(b"not packed")
        with pytest.raises(InvalidInput, match="is damaged after line 0"):
            load_dataset(tmp_path)
        (tmp_path / "corpus.jsonl").write_bytes(b"\xff\xfe")
        with pytest.raises(InvalidInput, match=r"corpus\.jsonl: is not UTF-8 text"):
            load_dataset(tmp_path)

    def test_a_missing_folder_or_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match="There is no folder"):
            load_dataset(tmp_path / "nowhere")
        with pytest.raises(InvalidInput, match=r"holds no queries\.jsonl"):
            load_dataset(tmp_path)

    def test_marks_that_lead_nowhere_are_noted(self, tmp_path: Path) -> None:
        dataset = load_dataset(make(tmp_path, qrels=QRELS + "q1\tgone\t1\nqx\td1\t1\n"))
        assert dataset.notes == (
            "1 marked queries are not in queries.jsonl and were left out.",
            "1 marked documents are not in the corpus and count as missed: 'gone', ...",
        )
