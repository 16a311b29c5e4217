"""Settings: where a value comes from, which one counts, and what a wrong one is told."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from hybridrag.config import MASK, LoadedSettings, Settings, load_settings, setting_leaves
from hybridrag.errors import InvalidSettings, RAGError
from hybridrag.parts import make_own_reranker
from hybridrag.queries.plan import DEFAULT_WEIGHTS
from hybridrag.types.queries import QueryType, SearchWeights

SECRET = "sk-do-not-show-me"  # noqa: S105 (the tests prove that it never shows)


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder as the current one, with no settings file above it that a search could meet."""
    monkeypatch.chdir(tmp_path)
    for variable in [name for name in os.environ if name.startswith("HYBRIDRAG_")]:
        monkeypatch.delenv(variable)
    return tmp_path


def write(folder: Path, text: str, name: str = "hybridrag.toml") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def refused(
    path: Path | None = None, *, env: Mapping[str, str] | None = None, overrides: Mapping[str, object] | None = None
) -> InvalidSettings:
    with pytest.raises(InvalidSettings) as caught:
        load_settings(path, env=env or {}, overrides=overrides)
    return caught.value


def from_file(folder: Path, text: str) -> LoadedSettings:
    write(folder, text)
    return load_settings(env={})


class TestOrder:
    def test_without_file_or_environment_every_setting_is_its_default(self) -> None:
        loaded = load_settings(env={})
        assert loaded.settings == Settings()
        assert set(loaded.origins.values()) == {"default"}
        assert loaded.file is None

    def test_defaults_are_those_of_the_specification(self) -> None:
        settings = Settings()
        assert str(settings.index.path) == ".hybridrag"
        assert settings.documents.max_file_bytes == 100 * 1024**2
        assert settings.documents.max_unpacked_bytes == 500 * 1024**2
        assert settings.documents.max_memory_bytes == 1024**3
        assert (settings.chunking.max_tokens, settings.chunking.overlap_tokens) == (200, 20)
        assert settings.embedding.model == "hybridrag-e5-small"
        assert settings.embedding.cache_dir.is_absolute()
        assert settings.search.min_confidence == 0.6
        assert settings.search.rrf_k == 60

    def test_the_file_counts_over_the_default(self, project: Path) -> None:
        loaded = from_file(project, "[search]\nrrf_k = 10\n")
        assert loaded.settings.search.rrf_k == 10
        assert loaded.origins["search.rrf_k"] == str(project / "hybridrag.toml")
        assert loaded.origins["search.min_confidence"] == "default"

    def test_the_environment_counts_over_the_file_and_arguments_over_both(self, project: Path) -> None:
        write(project, "[search]\nrrf_k = 10\nmin_confidence = 0.1\n[chunking]\nmax_tokens = 99\n")
        loaded = load_settings(
            env={"HYBRIDRAG_SEARCH_RRF_K": "20", "HYBRIDRAG_CHUNKING_MAX_TOKENS": "98"},
            overrides={"search.rrf_k": 30},
        )
        assert loaded.settings.search.rrf_k == 30
        assert loaded.settings.chunking.max_tokens == 98
        assert loaded.settings.search.min_confidence == 0.1
        assert loaded.origins["search.rrf_k"] == "argument"
        assert loaded.origins["chunking.max_tokens"] == "HYBRIDRAG_CHUNKING_MAX_TOKENS"

    @settings(deadline=None)  # a busy machine is no error
    @given(
        file=st.none() | st.integers(1, 1000),
        variable=st.none() | st.integers(1, 1000),
        argument=st.none() | st.integers(1, 1000),
    )
    def test_the_last_source_that_gives_a_value_counts(
        self, tmp_path_factory: pytest.TempPathFactory, file: int | None, variable: int | None, argument: int | None
    ) -> None:
        text = "" if file is None else f"[search]\nrrf_k = {file}"
        path = write(tmp_path_factory.mktemp("order"), text)
        env = {} if variable is None else {"HYBRIDRAG_SEARCH_RRF_K": str(variable)}
        loaded = load_settings(path, env=env, overrides={"search.rrf_k": argument})
        given = [
            (value, origin)
            for value, origin in (
                (60, "default"),
                (file, str(path)),
                (variable, "HYBRIDRAG_SEARCH_RRF_K"),
                (argument, "argument"),
            )
            if value is not None
        ]
        assert (loaded.settings.search.rrf_k, loaded.origins["search.rrf_k"]) == given[-1]

    def test_the_process_environment_is_read_when_none_is_given(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HYBRIDRAG_SEARCH_RRF_K", "7")
        assert load_settings().settings.search.rrf_k == 7

    def test_an_override_of_none_counts_as_not_given(self) -> None:
        assert load_settings(env={}, overrides={"search.rrf_k": None}).origins["search.rrf_k"] == "default"

    def test_an_empty_variable_counts_as_not_given(self) -> None:
        assert load_settings(env={"HYBRIDRAG_EMBEDDING_API_KEY": ""}).settings.embedding.api_key is None

    def test_overrides_may_be_nested(self) -> None:
        loaded = load_settings(env={}, overrides={"index": {"path": Path("x"), "workspace": "w"}})
        assert (str(loaded.settings.index.path), loaded.settings.index.workspace) == ("x", "w")


class TestFile:
    def test_the_file_is_searched_in_the_folders_above(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        file = write(project, "[index]\nworkspace = 'w'\n")
        (project / "a" / "b").mkdir(parents=True)
        monkeypatch.chdir(project / "a" / "b")
        loaded = load_settings(env={})
        assert loaded.file == file
        assert loaded.settings.index.workspace == "w"

    def test_the_nearest_file_counts_alone(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write(project, "[search]\nrrf_k = 1\n")
        (project / "a").mkdir()
        write(project / "a", "[search]\nmin_confidence = 0.2\n")
        monkeypatch.chdir(project / "a")
        assert load_settings(env={}).settings.search.rrf_k == 60

    def test_a_given_file_is_read_whatever_its_name(self, project: Path) -> None:
        file = write(project, "[search]\nrrf_k = 5\n", "other.toml")
        assert load_settings(file, env={}).settings.search.rrf_k == 5
        assert load_settings(env={"HYBRIDRAG_CONFIG": str(file)}).settings.search.rrf_k == 5

    def test_a_given_file_counts_over_the_one_that_the_environment_names(self, project: Path) -> None:
        first = write(project, "[search]\nrrf_k = 1\n", "first.toml")
        second = write(project, "[search]\nrrf_k = 2\n", "second.toml")
        assert load_settings(first, env={"HYBRIDRAG_CONFIG": str(second)}).settings.search.rrf_k == 1

    def test_a_relative_path_in_a_file_starts_at_the_folder_of_the_file(
        self, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(project, "[index]\npath = 'my-index'\n")
        (project / "below").mkdir()
        monkeypatch.chdir(project / "below")
        assert load_settings(env={}).settings.index.path == project / "my-index"

    def test_the_default_index_lies_beside_the_file_that_was_found(
        self, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(project, "")
        (project / "below").mkdir()
        monkeypatch.chdir(project / "below")
        loaded = load_settings(env={})
        assert loaded.settings.index.path == project / ".hybridrag"
        assert loaded.origins["index.path"] == "default"

    def test_the_default_index_does_not_move_to_a_file_that_was_named(self, project: Path) -> None:
        (project / "etc").mkdir()
        file = write(project / "etc", "")
        assert load_settings(file, env={}).settings.index.path == Path(".hybridrag")

    def test_a_relative_path_elsewhere_starts_at_the_current_folder(self, project: Path) -> None:
        write(project, "[index]\npath = 'in-file'\n")
        assert load_settings(env={"HYBRIDRAG_INDEX_PATH": "here"}).settings.index.path == Path("here")

    def test_a_tilde_is_the_home_folder(self, project: Path) -> None:
        assert from_file(project, "[index]\npath = '~/x'\n").settings.index.path == Path.home() / "x"

    def test_a_file_written_with_a_byte_order_mark_is_read(self, project: Path) -> None:
        (project / "hybridrag.toml").write_bytes(b"\xef\xbb\xbf[search]\nrrf_k = 4\n")
        assert load_settings(env={}).settings.search.rrf_k == 4

    def test_a_missing_file_is_named(self, project: Path) -> None:
        error = refused(project / "nope.toml")
        assert str(error) == f"argument: `config` must name a settings file, and {project / 'nope.toml'} is not there."
        assert refused(env={"HYBRIDRAG_CONFIG": "nope.toml"}).where == "HYBRIDRAG_CONFIG"

    def test_a_folder_in_place_of_a_file_is_named(self, project: Path) -> None:
        assert "is a folder" in str(refused(project))

    def test_a_file_that_is_not_utf8_is_refused(self, project: Path) -> None:
        (project / "hybridrag.toml").write_bytes("[index]\nworkspace = '日本'".encode("shift_jis"))
        assert "must be UTF-8" in str(refused())


class TestWrongFile:
    @pytest.mark.parametrize(
        ("text", "line", "key"),
        [
            ("[search]\nrrf_k = = 3\n", 2, "rrf_k"),
            ("[search\nrrf_k = 3\n", 1, "[search"),
            ("[embedding]\nmodel = big\n", 2, "model"),
            ("[search]\nrrf_k = 3\nrrf_k = 4\n", 3, "rrf_k"),
            ("[search]\nrrf_k", 2, "hybridrag.toml"),
            ('[documents]\nexclude = ["a",\n', 2, "exclude"),
        ],
    )
    def test_broken_toml_names_the_line(self, project: Path, text: str, line: int, key: str) -> None:
        write(project, text)
        error = refused()
        assert error.where == f"{project / 'hybridrag.toml'}, line {line}"
        assert error.key == key
        assert "is not valid TOML" in str(error)

    def test_broken_toml_never_shows_a_value(self, project: Path) -> None:
        for value in (f'"{SECRET}', f'"""\n{SECRET}', SECRET):
            write(project, f"[embedding]\napi_key = {value}\n")
            assert SECRET not in str(refused())

    def test_a_misspelt_key_is_named_with_the_right_one(self, project: Path) -> None:
        write(project, "[embedding]\nmodle = 'x'\n")
        error = refused()
        assert str(error) == (
            f"{project / 'hybridrag.toml'}: `embedding.modle` is not a setting. Did you mean `embedding.model`?"
        )

    def test_a_misspelt_section_is_named_with_the_right_one(self, project: Path) -> None:
        write(project, "[embeding]\nmodel = 'x'\n")
        assert str(refused()).endswith("`embeding` is not a setting. Did you mean `embedding`?")

    def test_a_key_in_the_wrong_section_is_led_to_its_own(self, project: Path) -> None:
        write(project, "max_pages = 3\n")
        assert str(refused()).endswith("Did you mean `documents.max_pages`?")
        write(project, "[search]\nmax_pages = 3\n")
        assert str(refused()).endswith("Did you mean `documents.max_pages`?")

    def test_a_key_like_no_other_leads_to_the_list(self, project: Path) -> None:
        write(project, "[search]\nzzzzzz = 3\n")
        assert "hybridrag config show" in str(refused())

    @pytest.mark.parametrize(
        ("text", "key", "expected"),
        [
            ("[search]\nrrf_k = '60'", "search.rrf_k", 'must be a whole number from 1 to 1000, found "60"'),
            ("[search]\nrrf_k = 0", "search.rrf_k", "must be a whole number from 1 to 1000, found 0"),
            ("[search]\nrrf_k = true", "search.rrf_k", "must be a whole number from 1 to 1000, found true"),
            ("[search]\nmin_confidence = nan", "search.min_confidence", "must be a number from 0 to 1, found NaN"),
            ("[documents]\nisolate = 1", "documents.isolate", "must be true or false, found 1"),
            ("[documents]\nexclude = 'a'", "documents.exclude", 'must be a list of texts, found "a"'),
            ("[documents]\nexclude = [1]", "documents.exclude", "must be a list of texts, found [1]"),
            ("[documents]\nmax_seconds = 0", "documents.max_seconds", "must be a number greater than 0, found 0"),
            ("[documents]\nmax_rows = 1979-05-27", "documents.max_rows", "found 1979-05-27"),
            ("[index]\npath = ''", "index.path", 'must be a path, found ""'),
            ("[index]\nworkspace = ''", "index.workspace", 'must be a text that is not empty, found ""'),
            ("[store]\nvector_index = 'hnsw'", "store.vector_index", "must be one of auto, exact, quantised, diskann"),
            ("[embedding]\nbase_url = 'localhost'", "embedding.base_url", "starts with http:// or https://"),
            ("[embedding.model]\nname = 'x'", "embedding.model", 'found {"name": "x"}'),
            ("search = 3", "search", "must be a section of settings, found 3"),
        ],
    )
    def test_a_wrong_value_names_file_key_and_what_was_expected(
        self, project: Path, text: str, key: str, expected: str
    ) -> None:
        write(project, text)
        error = refused()
        assert error.where == str(project / "hybridrag.toml")
        assert error.key == key
        assert expected in str(error)

    def test_a_whole_number_is_taken_where_any_number_belongs(self, project: Path) -> None:
        assert from_file(project, "[store]\nbusy_timeout_seconds = 5").settings.store.busy_timeout_seconds == 5.0

    def test_a_long_value_is_cut_in_its_error(self, project: Path) -> None:
        write(project, f"[search]\nrrf_k = '{'x' * 5000}'")
        assert len(str(refused())) < 400

    def test_overlap_as_long_as_the_chunk_is_refused_where_it_was_set(self, project: Path) -> None:
        write(project, "[chunking]\nmax_tokens = 20\n")
        error = refused()
        assert error.where == str(project / "hybridrag.toml")
        assert "`chunking.overlap_tokens` must be less than `chunking.max_tokens` (20), found 20" in str(error)

    def test_the_error_is_of_the_one_tree(self, project: Path) -> None:
        write(project, "x = 1")
        assert isinstance(refused(), RAGError)
        assert refused().code == "invalid_settings"


class TestEnvironment:
    def test_every_variable_name_is_unique_and_no_reserved_one(self) -> None:
        variables = [leaf.variable for leaf in setting_leaves().values()]
        assert len(set(variables)) == len(variables)
        assert "HYBRIDRAG_CONFIG" not in variables
        assert "HYBRIDRAG_EMBEDDING_API_KEY" in variables

    @pytest.mark.parametrize(
        ("variable", "text", "key", "value"),
        [
            ("HYBRIDRAG_DOCUMENTS_ISOLATE", "false", "isolate", False),
            ("HYBRIDRAG_DOCUMENTS_ISOLATE", "0", "isolate", False),
            ("HYBRIDRAG_DOCUMENTS_EXCLUDE", "*.log, build/", "exclude", ("*.log", "build/")),
            ("HYBRIDRAG_DOCUMENTS_EXCLUDE", '["a,b", "c"]', "exclude", ("a,b", "c")),
            ("HYBRIDRAG_DOCUMENTS_MAX_SECONDS", "1.5", "max_seconds", 1.5),
            ("HYBRIDRAG_DOCUMENTS_MAX_PAGES", "12", "max_pages", 12),
        ],
    )
    def test_text_becomes_the_type_of_the_setting(self, variable: str, text: str, key: str, value: object) -> None:
        assert getattr(load_settings(env={variable: text}).settings.documents, key) == value

    def test_an_optional_number_is_read(self) -> None:
        assert load_settings(env={"HYBRIDRAG_EMBEDDING_DIMENSIONS": "384"}).settings.embedding.dimensions == 384

    def test_a_wrong_value_names_the_variable_and_the_key(self) -> None:
        error = refused(env={"HYBRIDRAG_SEARCH_RRF_K": "many"})
        assert str(error) == (
            'HYBRIDRAG_SEARCH_RRF_K: `search.rrf_k` must be a whole number from 1 to 1000, found "many".'
        )

    def test_a_broken_list_is_refused(self) -> None:
        assert "must be a list of texts" in str(refused(env={"HYBRIDRAG_DOCUMENTS_EXCLUDE": '["a'}))

    def test_an_unknown_variable_is_named_with_the_nearest(self) -> None:
        error = refused(env={"HYBRIDRAG_EMBEDDING_APIKEY": SECRET})
        assert str(error) == (
            "environment: `HYBRIDRAG_EMBEDDING_APIKEY` is not a setting. Did you mean `HYBRIDRAG_EMBEDDING_API_KEY`?"
        )

    def test_variables_of_others_are_left_alone(self) -> None:
        assert load_settings(env={"HYBRID": "x", "PATH": "/bin", "OPENAI_API_KEY": "x"}).settings == Settings()


class TestArguments:
    def test_a_wrong_argument_is_named(self) -> None:
        error = refused(overrides={"search.rrf_k": "60"})
        assert str(error) == 'argument: `search.rrf_k` must be a whole number from 1 to 1000, found "60".'

    def test_an_unknown_argument_is_named(self) -> None:
        assert "`search.rrfk` is not a setting" in str(refused(overrides={"search.rrfk": 1}))

    def test_a_value_that_no_file_could_hold_is_refused(self) -> None:
        assert "must be a whole number" in str(refused(overrides={"search.rrf_k": object()}))

    def test_python_values_are_taken(self) -> None:
        loaded = load_settings(
            env={}, overrides={"documents.exclude": ("a",), "embedding.api_key": SecretStr(SECRET), "index.path": "x"}
        )
        assert loaded.settings.documents.exclude == ("a",)
        assert loaded.settings.embedding.api_key == SecretStr(SECRET)


class TestSecrets:
    def test_a_secret_is_masked_wherever_settings_are_shown(self) -> None:
        loaded = load_settings(env={"HYBRIDRAG_EMBEDDING_API_KEY": SECRET})
        shown = {setting.key: setting.value for setting in loaded.shown()}
        assert shown["embedding.api_key"] == MASK
        assert SECRET not in repr(loaded)
        assert SECRET not in str(loaded.shown())
        assert SECRET not in loaded.settings.model_dump_json()

    def test_a_secret_of_the_wrong_type_is_not_shown(self, project: Path) -> None:
        write(project, f"[embedding]\napi_key = ['{SECRET}']\n")
        error = refused()
        assert SECRET not in str(error)
        assert "`embedding.api_key` must be a text, found a value of type list" in str(error)
        assert error.__cause__ is None
        assert error.__suppress_context__

    def test_a_password_within_an_address_is_masked(self) -> None:
        loaded = load_settings(env={"HYBRIDRAG_EMBEDDING_BASE_URL": f"https://me:{SECRET}@host/v1"})
        shown = {setting.key: setting.value for setting in loaded.shown()}
        assert shown["embedding.base_url"] == f"https://me:{MASK}@host/v1"
        assert SECRET not in str(refused(env={"HYBRIDRAG_EMBEDDING_BASE_URL": f"ftp://me:{SECRET}@host/v1"}))


class TestTree:
    def test_settings_cannot_be_changed(self) -> None:
        with pytest.raises(ValidationError):
            Settings().search.rrf_k = 3  # type: ignore[misc]

    def test_every_setting_says_what_it_is_for(self) -> None:
        assert [key for key, leaf in setting_leaves().items() if not leaf.field.description] == []

    def test_every_setting_is_shown_once_with_its_origin(self) -> None:
        loaded = load_settings(env={})
        assert [setting.key for setting in loaded.shown()] == list(setting_leaves()) == list(loaded.origins)


class TestTuned:
    """What `hybridrag tune` turns."""

    def test_weights_by_kind_of_question_are_the_recommended_ones_until_set(self, project: Path) -> None:
        usual = load_settings(env={}).settings.search.weights
        assert {kind: usual.of(kind) for kind in QueryType} == DEFAULT_WEIGHTS
        assert usual.of(QueryType.GLOBAL) == SearchWeights(keyword=0.2, semantic=0.3, graph=0.5)
        text = "[search.weights.global]\nkeyword = 0.1\nsemantic = 0.1\ngraph = 0.8\n"
        chosen = from_file(project, text).settings.search.weights
        assert chosen.of(QueryType.GLOBAL).graph == 0.8
        assert chosen.of(QueryType.LOCAL) == DEFAULT_WEIGHTS[QueryType.LOCAL]

    def test_weights_that_do_not_add_up_are_one_sentence(self, project: Path) -> None:
        error = refused(write(project, "[search.weights.local]\nkeyword = 0.9\n"))
        assert "search.weights.local" in str(error)
        assert "must add up to 1 over `keyword`, `semantic` and `graph`, found 1.55" in str(error)
        assert "hybridrag.toml" in str(error)

    def test_a_weight_can_come_from_the_environment(self) -> None:
        env = {"HYBRIDRAG_SEARCH_WEIGHTS_GLOBAL_GRAPH": "0.4", "HYBRIDRAG_SEARCH_WEIGHTS_GLOBAL_KEYWORD": "0.3"}
        loaded = load_settings(env=env)
        assert loaded.settings.search.weights.global_.graph == 0.4
        shown = {one.key: one for one in loaded.shown()}
        assert shown["search.weights.global.graph"].value == 0.4
        assert shown["search.weights.global.graph"].origin == "HYBRIDRAG_SEARCH_WEIGHTS_GLOBAL_GRAPH"

    def test_the_bounds_of_grades_must_be_in_order(self) -> None:
        error = refused(overrides={"verify.incorrect_until": 0.8})
        assert "must be less than `verify.correct_from` (0.7), found 0.8" in str(error)

    @pytest.mark.parametrize(
        ("key", "value", "expected"),
        [
            ("search.candidates", 5, "a whole number from 10 to 1000"),
            ("search.candidates_per_result", 0, "a whole number from 1 to 20"),
            ("search.min_relevance", 1.5, "a number from 0 to 1"),
            ("search.walk.steps", 4, "a whole number from 1 to 3"),
            ("search.walk.start_from", 0, "a whole number from 1 to 100"),
            ("search.walk.max_shared", 1, "a whole number from 2 to 1000"),
            ("search.walk.own_share", -0.1, "a number from 0 to 1"),
            ("rerank.read_blend", 2.0, "a number from 0 to 1"),
        ],
    )
    def test_each_is_checked(self, key: str, value: float, expected: str) -> None:
        assert f"must be {expected}" in str(refused(overrides={key: value}))


def test_the_larger_model_reads_where_the_settings_name_it_and_any_other_name_is_refused() -> None:
    def size(**rerank: object) -> str:
        overrides = {f"rerank.{key}": value for key, value in rerank.items()}
        return make_own_reranker(load_settings(env={}, overrides=overrides).settings).size

    assert (size(), size(model="small"), size(provider="own", model="small")) == ("base", "small", "small")
    # The name of another provider's model says nothing about which of the package's own reads for the judge.
    assert size(provider="cross-encoder", model="some/model") == "base"
    with pytest.raises(InvalidSettings, match="`small` or `base` for `auto`, found 'large'"):
        size(model="large")
