"""Write the graph for other programs: GraphML, JSON, CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from hybridrag.types.graph import ChunkPlace, Entity, Relation, Section
from hybridrag.types.ids import ChunkId, EntityId, SectionId, section_id_for

CSV_COLUMNS = ("source", "target", "predicate", "weight", "evidence", "sourceType", "targetType")
TOGETHER = "mentioned with"
"""The predicate of two entities that share chunks without anything being said of them."""

PART, TEXT, MENTIONS, NAMES = "has part", "has text", "mentions", "names"
"""Document to section, section to chunk, chunk to entity, chunk to the document or section that it names."""

DOCUMENT, SECTION, CHUNK = "document", "section", "chunk"
"""What a node is that is no entity."""


@dataclass(frozen=True, slots=True)
class StructureData:
    """Documents, sections and chunks, and what joins them to one another and to entities."""

    sections: tuple[Section, ...]
    chunks: tuple[ChunkPlace, ...]
    mentions: tuple[tuple[ChunkId, EntityId, int], ...]
    """Which chunk mentions which entity how often."""
    names: tuple[tuple[ChunkId, SectionId], ...]
    """Which chunk names which document or section."""


@dataclass(frozen=True, slots=True)
class GraphData:
    """A graph, or the part of it that its reader may see."""

    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...]
    together: tuple[tuple[EntityId, EntityId, float], ...]
    """Pairs that share chunks, with how strongly."""
    structure: StructureData = StructureData((), (), (), ())


@dataclass(frozen=True, slots=True)
class _Node:
    id: str
    name: str
    kind: str
    mentions: int = 0


@dataclass(frozen=True, slots=True)
class _Edge:
    source: str
    target: str
    predicate: str
    weight: float = 1.0
    evidence: str = ""


def to_json(data: GraphData) -> str:
    """One object with `entities`, `relations`, `together`, `sections`, `chunks` and `structure`, in camelCase."""
    value = {
        "entities": [entity.model_dump(mode="json") for entity in data.entities],
        "relations": [relation.model_dump(mode="json") for relation in data.relations],
        "together": [
            {"sourceId": source, "targetId": target, "weight": round(weight, 6)}
            for source, target, weight in data.together
        ],
        "sections": [section.model_dump(mode="json") for section in data.structure.sections],
        "chunks": [
            {"id": it.chunk_id, "fileId": it.file_id, "ordinal": it.ordinal, "headings": list(it.headings)}
            for it in data.structure.chunks
        ],
        "structure": [
            {"sourceId": edge.source, "targetId": edge.target, "predicate": edge.predicate, "weight": edge.weight}
            for edge in _structure_edges(data.structure)
        ],
    }
    return json.dumps(value, ensure_ascii=False, indent=2)


def to_csv(data: GraphData) -> str:
    """One line per edge with the names and types of its ends; spreadsheets and graph tools read it."""
    nodes = {node.id: node for node in _nodes(data)}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for edge in _edges(data):
        source, target = nodes[edge.source], nodes[edge.target]
        cells = (
            source.name,
            target.name,
            edge.predicate,
            f"{edge.weight:.6g}",
            edge.evidence,
            source.kind,
            target.kind,
        )
        writer.writerow(map(_harmless, cells))
    return out.getvalue()


def to_graphml(data: GraphData) -> str:
    """GraphML, as Gephi, yEd, Cytoscape and networkx read it."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
        '  <key id="name" for="node" attr.name="name" attr.type="string"/>',
        '  <key id="type" for="node" attr.name="type" attr.type="string"/>',
        '  <key id="mentions" for="node" attr.name="mentions" attr.type="int"/>',
        '  <key id="predicate" for="edge" attr.name="predicate" attr.type="string"/>',
        '  <key id="weight" for="edge" attr.name="weight" attr.type="double"/>',
        '  <graph edgedefault="directed">',
    ]
    for node in _nodes(data):
        lines.append(f"    <node id={quoteattr(node.id)}>")
        lines.append(f'      <data key="name">{_text(node.name)}</data>')
        lines.append(f'      <data key="type">{node.kind}</data>')
        lines.append(f'      <data key="mentions">{node.mentions}</data>')
        lines.append("    </node>")
    for edge in _edges(data):
        lines.append(f"    <edge source={quoteattr(edge.source)} target={quoteattr(edge.target)}>")
        lines.append(f'      <data key="predicate">{_text(edge.predicate)}</data>')
        lines.append(f'      <data key="weight">{edge.weight:g}</data>')
        lines.append("    </edge>")
    lines += ["  </graph>", "</graphml>", ""]
    return "\n".join(lines)


def _nodes(data: GraphData) -> Iterator[_Node]:
    for entity in data.entities:
        yield _Node(entity.id, entity.name, str(entity.type), entity.mention_count)
    documents = {section.file_id: section.title for section in data.structure.sections if not section.headings}
    for section in data.structure.sections:
        yield _Node(section.id, section.title, SECTION if section.headings else DOCUMENT)
    for chunk in data.structure.chunks:
        yield _Node(chunk.chunk_id, f"{documents[chunk.file_id]} #{chunk.ordinal + 1}", CHUNK)


def _edges(data: GraphData) -> Iterator[_Edge]:
    for relation in data.relations:
        sentence = relation.evidence[0].sentence if relation.evidence else ""
        yield _Edge(relation.source_id, relation.target_id, relation.predicate, relation.weight, sentence)
    for source, target, weight in data.together:
        yield _Edge(source, target, TOGETHER, weight)
    yield from _structure_edges(data.structure)


def _structure_edges(structure: StructureData) -> Iterator[_Edge]:
    for section in structure.sections:
        if section.headings:
            yield _Edge(section_id_for(section.file_id, section.headings[:-1]), section.id, PART)
    for chunk in structure.chunks:
        yield _Edge(section_id_for(chunk.file_id, chunk.headings), chunk.chunk_id, TEXT)
    for chunk_id, entity_id, count in structure.mentions:
        yield _Edge(chunk_id, entity_id, MENTIONS, float(count))
    for chunk_id, section_id in structure.names:
        yield _Edge(chunk_id, section_id, NAMES)


def _text(text: str) -> str:
    """Text that XML can hold: control characters have no place in it, escaped or not."""
    return escape("".join(character for character in text if character >= " " or character in "\t\n"))


def _harmless(cell: str) -> str:
    """A cell that a spreadsheet does not run as a formula."""
    return f"'{cell}" if cell[:1] in {"=", "+", "-", "@", "\t", "\r"} else cell
