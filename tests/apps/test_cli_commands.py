"""`config`, `schema` and `query`: what each prints."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from pathlib import Path

import pytest

from hybridrag import schema_names
from hybridrag.apps.cli import main
from hybridrag.apps.cli.output import print_rows

SECRET = "sk-do-not-show-me"  # noqa: S105 (the tests prove that it never shows)


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for variable in [name for name in os.environ if name.startswith("HYBRIDRAG_")]:
        monkeypatch.delenv(variable)
    return tmp_path


class TestConfig:
    def test_show_prints_key_value_and_origin(
        self, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (project / "hybridrag.toml").write_text("[search]\nrrf_k = 10\n")
        monkeypatch.setenv("HYBRIDRAG_EMBEDDING_API_KEY", SECRET)
        assert main(["config", "show"]) == 0
        printed = capsys.readouterr().out
        rows = {line.split()[0]: re.split(r"\s{2,}", line)[1:] for line in printed.splitlines()}
        assert rows["search.rrf_k"] == ["10", str(project / "hybridrag.toml")]
        assert rows["embedding.api_key"] == ["********", "HYBRIDRAG_EMBEDDING_API_KEY"]
        assert rows["documents.isolate"] == ["true", "default"]
        assert rows["embedding.base_url"] == ["-", "default"]
        assert SECRET not in printed

    def test_show_json_is_for_programs(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("HYBRIDRAG_EMBEDDING_API_KEY", SECRET)
        assert main(["config", "show", "--json"]) == 0
        printed = capsys.readouterr().out
        shown = json.loads(printed)
        assert shown["file"] is None
        assert {"key": "search.rrf_k", "value": 60, "origin": "default"} in shown["settings"]
        assert SECRET not in printed

    def test_show_takes_a_file(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (project / "other.toml").write_text("[search]\nrrf_k = 10\n")
        assert main(["config", "show", "--config", "other.toml", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["file"] == str(project / "other.toml")

    def test_show_on_a_terminal_is_a_table_that_hides_nothing(
        self, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Terminal(io.StringIO):
            def isatty(self) -> bool:
                return True

        monkeypatch.setenv("COLUMNS", "200")
        (project / "hybridrag.toml").write_text('[documents]\nexclude = ["[bold]*.log"]\n')
        screen = Terminal()
        monkeypatch.setattr(sys, "stdout", screen)
        assert main(["config", "show"]) == 0
        assert '["[bold]*.log"]' in screen.getvalue()
        assert "┃" in screen.getvalue()

    def test_a_wrong_setting_is_one_sentence_with_code_2(
        self, project: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (project / "hybridrag.toml").write_text("[serch]\nrrf_k = 10\n")
        assert main(["config", "show"]) == 2
        assert capsys.readouterr().err == (
            f"error: {project / 'hybridrag.toml'}: `serch` is not a setting. Did you mean `search`?\n"
        )

    def test_path_prints_the_file_that_is_read(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (project / "hybridrag.toml").write_text("")
        assert main(["config", "path"]) == 0
        assert capsys.readouterr().out == f"{project / 'hybridrag.toml'}\n"

    def test_path_says_when_there_is_none(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["config", "path"]) == 3
        printed = capsys.readouterr()
        assert printed.out == ""
        assert "the defaults are in use" in printed.err

    def test_columns_of_japanese_text_stay_aligned(self, capsys: pytest.CaptureFixture[str]) -> None:
        print_rows(("a", "b"), [("検索", "1"), ("ab", "2")])
        assert capsys.readouterr().out == "a     b\n検索  1\nab    2\n"


class TestSchema:
    def test_without_a_name_it_lists_the_types(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["schema"]) == 0
        assert capsys.readouterr().out.split() == schema_names()
        assert main(["schema", "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == schema_names()

    def test_a_name_prints_its_schema_in_camel_case(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["schema", "SearchFilters"]) == 0
        schema = json.loads(capsys.readouterr().out)
        assert {"fileIds", "fileTypes", "workspaceIds", "entityTypes", "dateRange", "minRelevance"} == set(
            schema["properties"]
        )

    def test_all_prints_every_schema(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["schema", "--all"]) == 0
        assert list(json.loads(capsys.readouterr().out)) == schema_names()

    def test_an_unknown_name_is_led_to_the_nearest(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["schema", "searchquery"]) == 2
        assert "Did you mean SearchQuery?" in capsys.readouterr().err

    def test_check_passes_a_right_file(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (project / "q.json").write_bytes(b"\xef\xbb\xbf" + b'{"text": "BM25"}')
        assert main(["schema", "--check", "q.json"]) == 0
        assert capsys.readouterr().out == "q.json: a valid SearchQuery\n"

    def test_check_prints_one_line_per_problem(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (project / "q.json").write_text('{"options": {"limit": 0, "ofset": 1}}')
        assert main(["schema", "--check", "q.json"]) == 2
        assert capsys.readouterr().out.splitlines() == [
            "q.json: `text` is missing",
            "q.json: `options.limit` must be greater than or equal to 1, found 0",
            "q.json: `options.ofset` is not a known field (did you mean `options.offset`?)",
        ]

    def test_check_takes_another_type_and_prints_json(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (project / "r.json").write_text('{"start": "2024-02-01", "end": "2024-01-01"}')
        assert main(["schema", "--check", "r.json", "--type", "DateRange", "--json"]) == 2
        checked = json.loads(capsys.readouterr().out)
        assert checked["valid"] is False
        assert len(checked["problems"]) == 1

    def test_check_reads_standard_input(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"text": "x"}')))
        assert main(["schema", "--check", "-"]) == 0
        assert capsys.readouterr().out == "-: a valid SearchQuery\n"

    def test_a_missing_file_is_one_sentence(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["schema", "--check", "nope.json"]) == 2
        assert capsys.readouterr().err == "error: nope.json cannot be read: no such file or directory.\n"

    def test_type_without_check_is_wrong_usage(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["schema", "--type", "SearchQuery"]) == 2
        assert "--type belongs to --check." in capsys.readouterr().err


class TestQuery:
    def test_a_bare_text_prints_every_default(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["query", "  BM25とは  "]) == 0
        query = json.loads(capsys.readouterr().out)
        assert query["text"] == "BM25とは"
        assert query["type"] == "hybrid"
        assert query["options"]["limit"] == 20
        assert query["filters"]["minRelevance"] == 0.3

    def test_every_option_reaches_the_query(self, capsys: pytest.CaptureFixture[str]) -> None:
        file_id = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"
        options = "--type global --limit 5 --offset 10 --strategy keyword --strategy graph --weights 0.5,0,0.5"
        filters = (
            "--min-relevance 0 --file-type text/* --workspace w --entity-type person --from 2024-01-01 --to 2024-02-01"
        )
        flags = "--no-rerank --crag --no-highlights --no-metadata"
        args = [*options.split(), *filters.split(), *flags.split(), "--file-id", file_id]
        assert main(["query", "x", *args]) == 0
        query = json.loads(capsys.readouterr().out)
        assert query["type"] == "global"
        assert query["options"] == {
            "limit": 5,
            "offset": 10,
            "includeMetadata": False,
            "includeHighlights": False,
            "rerankEnabled": False,
            "cragEnabled": True,
            "strategies": ["keyword", "graph"],
            "weights": {"keyword": 0.5, "semantic": 0.0, "graph": 0.5},
        }
        found = query["filters"]
        assert found["minRelevance"] == 0
        assert found["fileIds"] == [file_id]
        assert (found["fileTypes"], found["workspaceIds"], found["entityTypes"]) == (["text/*"], ["w"], ["person"])
        assert found["dateRange"]["start"].startswith("2024-01-01T00:00")
        assert found["dateRange"]["end"].startswith("2024-02-01T23:59")

    def test_a_mode_is_the_short_form_of_strategies(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["query", "x", "--mode", "keyword"]) == 0
        assert json.loads(capsys.readouterr().out)["options"]["strategies"] == ["keyword"]

    @pytest.mark.parametrize(
        ("args", "message"),
        [
            ([" "], "`text`: the query is empty"),
            (["x", "--limit", "101"], "`options.limit` must be less than or equal to 100, found 101"),
            (["x", "--weights", "1,1"], "--weights must be three numbers such as 0.35,0.35,0.3, found '1,1'"),
            (["x", "--weights", "1,1,1"], "`options.weights`: "),
            (["x", "--file-id", "abc"], "`filters.fileIds[0]`: FileId must be a UUID"),
            (["x", "--mode", "keyword", "--strategy", "graph"], "either mode or strategies"),
            (["x", "--from", "soon"], "`filters.dateRange.start` must be a valid datetime"),
        ],
    )
    def test_a_wrong_query_is_one_sentence_that_names_the_field(
        self, capsys: pytest.CaptureFixture[str], args: list[str], message: str
    ) -> None:
        assert main(["query", *args]) == 2
        printed = capsys.readouterr().err
        assert message in printed
        assert printed.count("\n") == 1
