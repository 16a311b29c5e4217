"""Documents and sections in the graph: read off the chunks, walked over, exported, and bound by filters."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from hybridrag.apps.cli import main
from hybridrag.config import load_settings
from hybridrag.engine import Engine
from hybridrag.errors import NotFound
from hybridrag.testing.embedders import HashEmbedder
from hybridrag.types.graph import EntityType, Section
from hybridrag.types.ids import section_id_for
from hybridrag.types.queries import SearchFilters

LONG = "This line only makes the section long enough to stand alone. " * 12

ENGINES = f"""# Charles Babbage

A mathematician of the nineteenth century.

## Machines

He designed the Difference Engine for the government. {LONG}

### Successors

Per Georg Scheutz built a copy in Stockholm. {LONG}

## Writings

In 1832 he published a book with Knight Publishing. {LONG}
"""
SOSEKI = f"""# 夏目漱石

明治の小説家。

## 作品

『吾輩は猫である』は雑誌ホトトギスに連載された。{"この節は一つの塊として立つだけの長さがある。" * 30}

## 生涯

松山で英語を教えた。{"この節は一つの塊として立つだけの長さがある。" * 30}
"""


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    settings = load_settings(
        env={}, overrides={"documents.isolate": False, "graph.extractor": "light", "chunking.max_tokens": 128}
    ).settings
    engine = Engine.open(tmp_path / "index", settings=settings, embedder=HashEmbedder())
    engine.add(text=ENGINES, name="engines.md", mime_type="text/markdown")
    engine.add(text=SOSEKI, name="soseki.md", mime_type="text/markdown")
    engine.add(text="Ada Lovelace wrote letters to Charles Babbage.", name="ada.txt")
    engine.add(text="寺田寅彦は夏目漱石に学んだ。", name="terada.txt")
    return engine


def test_a_document_is_a_tree_of_sections_and_chunks(engine: Engine) -> None:
    outline = engine.graph.structure("engines.md")
    assert outline.section.title == "Charles Babbage"
    (whole,) = outline.parts
    assert [part.section.title for part in whole.parts] == ["Machines", "Writings"]
    (successors,) = whole.parts[0].parts
    assert successors.section.headings == ("Charles Babbage", "Machines", "Successors")
    assert successors.section.id == section_id_for(outline.section.file_id, successors.section.headings)
    assert successors.chunk_ids
    assert [part.section.title for part in engine.graph.structure("soseki.md").parts[0].parts] == ["作品", "生涯"]
    with pytest.raises(NotFound, match=r"nothing\.md"):
        engine.graph.structure("nothing.md")


def test_every_chunk_of_a_file_stands_in_its_outline_once(engine: Engine) -> None:
    file = next(file for file in engine.files() if file.name == "engines.md")
    found: list[str] = []
    waiting = [engine.graph.structure(file.id)]
    while waiting:
        outline = waiting.pop()
        found += outline.chunk_ids
        waiting += outline.parts
    assert sorted(found) == sorted(chunk.id for chunk in engine._store.chunks_of(file.id))


@pytest.mark.parametrize(
    ("start", "end", "title"),
    [("Ada Lovelace", "Stockholm", "Successors"), ("寺田寅彦", "松山", "生涯")],
)
def test_a_path_leads_over_a_document_that_a_text_names(engine: Engine, start: str, end: str, title: str) -> None:
    """Neither text mentions both: the one names a document, and a section of that speaks of the other."""
    path = engine.graph.paths(start, end, max_hops=4)[0]
    assert path.names[0] == start
    assert path.names[-1] == end
    sections = [node for node in path.nodes if isinstance(node, Section)]
    assert sections, "the way leads over documents and sections"
    assert len(path.steps) == len(path.nodes) - 1
    assert path.steps[-1].predicate == "mentions"
    assert all(step.source_id != step.target_id for step in path.steps)
    assert title in engine.graph.sections(end)[0].headings


def test_a_document_makes_what_it_speaks_of_neighbours_of_what_it_is_called(engine: Engine) -> None:
    near = {neighbour.entity.name: neighbour for neighbour in engine.graph.neighbours("Charles Babbage", limit=50)}
    assert near["Ada Lovelace"].sections == ()
    (section,) = near["Stockholm"].sections
    assert section.title == "Charles Babbage"
    assert near["Stockholm"].chunk_ids
    back = {neighbour.entity.name: neighbour for neighbour in engine.graph.neighbours("Stockholm", limit=50)}
    assert [section.title for section in back["Charles Babbage"].sections] == ["Charles Babbage"]


def test_a_document_called_like_an_entity_comes_before_those_that_mention_it(engine: Engine) -> None:
    first, *others = engine.graph.sections("夏目漱石")
    assert first.title == "夏目漱石"
    assert "terada.txt" in {section.title for section in others}


def test_structure_is_exported_with_types(engine: Engine) -> None:
    value = json.loads(engine.graph.export("json"))
    titles = {section["title"] for section in value["sections"]}
    assert {"Charles Babbage", "Machines", "Successors", "夏目漱石", "作品"} <= titles
    known = {node["id"] for kind in ("entities", "sections", "chunks") for node in value[kind]}
    assert all({edge["sourceId"], edge["targetId"]} <= known for edge in value["structure"])
    assert {edge["predicate"] for edge in value["structure"]} == {"has part", "has text", "mentions", "names"}
    tree = ET.fromstring(engine.graph.export("graphml"))  # noqa: S314 (our own output)
    kinds = {data.text for data in tree.findall(".//{*}node/{*}data[@key='type']")}
    assert {"document", "section", "chunk"} <= kinds
    assert kinds - {"document", "section", "chunk"} <= {str(kind) for kind in EntityType}
    rows = list(csv.DictReader(engine.graph.export("csv").splitlines()))
    (part,) = [row for row in rows if row["predicate"] == "has part" and row["target"] == "Successors"]
    assert (part["source"], part["sourceType"], part["targetType"]) == ("Machines", "section", "section")
    assert any(row["sourceType"] == "chunk" and row["targetType"] == "document" for row in rows)
    bare = json.loads(engine.graph.export("json", structure=False))
    assert bare["sections"] == bare["chunks"] == bare["structure"] == []
    assert bare["entities"] == value["entities"]


def test_statistics_count_documents_sections_and_chunks(engine: Engine) -> None:
    counts = engine.graph.statistics()
    assert counts["documents"] == 4
    assert counts["sections"] == 4 + 3
    assert counts["chunks"] == engine.status().chunks


def test_a_filter_hides_documents_and_the_ways_over_them(engine: Engine) -> None:
    engine.add(text=ENGINES.replace("Babbage", "Xavier"), name="x.md", mime_type="text/markdown", workspace="other")
    engine.add(text="Ada Lovelace met Charles Xavier.", name="y.txt", workspace="other")
    mine = engine.graph.under(SearchFilters(workspace_ids=("default",)))
    with pytest.raises(NotFound):
        mine.structure("x.md")
    hidden = next(file for file in engine.files(workspace="other") if file.name == "x.md")
    with pytest.raises(NotFound):
        mine.structure(hidden.id)
    assert mine.statistics()["documents"] == 4
    assert "Xavier" not in mine.export("json")
    other = engine.graph.under(SearchFilters(workspace_ids=("other",)))
    assert other.statistics()["documents"] == 2
    for path in other.paths("Ada Lovelace", "Stockholm", max_hops=4):
        assert "Charles Babbage" not in path.names
    assert all("Babbage" not in it.title for near in other.neighbours("Ada Lovelace") for it in near.sections)


def test_entity_types_bind_the_ways_too(engine: Engine) -> None:
    """A way over an entity of a type that the filter leaves out ended in an error."""
    people = engine.graph.under(SearchFilters(entity_types=("person",)))
    for path in people.paths("Ada Lovelace", "Charles Babbage"):
        assert all(entity.type is EntityType.PERSON for entity in path.entities)


def test_sections_go_with_their_chunks(engine: Engine) -> None:
    engine.add(text="# Charles Babbage\n\nNothing is left.\n", name="engines.md", mime_type="text/markdown")
    assert [part.section.title for part in engine.graph.structure("engines.md").parts] == ["Charles Babbage"]
    assert engine.graph.statistics()["sections"] == 1 + 3
    engine.remove("engines.md")
    with pytest.raises(NotFound):
        engine.graph.structure("engines.md")
    assert engine.check() == []


def test_the_command_line_shows_where_an_entity_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HYBRIDRAG_EMBEDDING_PROVIDER", "fake")
    monkeypatch.setenv("HYBRIDRAG_GRAPH_EXTRACTOR", "light")
    monkeypatch.setenv("HYBRIDRAG_CHUNKING_MAX_TOKENS", "128")
    (tmp_path / "engines.md").write_text(ENGINES, encoding="utf-8")
    (tmp_path / "ada.txt").write_text("Ada Lovelace wrote letters to Charles Babbage.", encoding="utf-8")
    assert main(["add", "engines.md", "ada.txt", "--quiet"]) == 0
    assert main(["graph", "show", "Charles Babbage"]) == 0
    out = capsys.readouterr().out
    assert "stands in: Charles Babbage" in out
    assert "Stockholm" in out
    assert ", over Charles Babbage" in out
    assert main(["graph", "structure", "engines.md"]) == 0
    out = capsys.readouterr().out
    assert "    Machines (" in out
    assert "      Successors (" in out
    assert main(["graph", "structure", "engines.md", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["section"]["title"] == "Charles Babbage"
    assert main(["graph", "paths", "Ada Lovelace", "Stockholm", "--hops", "4"]) == 0
    assert "[Charles Babbage" in capsys.readouterr().out
    assert main(["graph", "export", "--format", "csv", "--entities-only"]) == 0
    assert "has part" not in capsys.readouterr().out
