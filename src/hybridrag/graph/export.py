"""Write the graph for other programs: GraphML, JSON, CSV."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from hybridrag.types.graph import Entity, Relation
from hybridrag.types.ids import EntityId

CSV_COLUMNS = ("source", "target", "predicate", "weight", "evidence")
TOGETHER = "mentioned with"
"""The predicate of two entities that share chunks without anything being said of them."""


@dataclass(frozen=True, slots=True)
class GraphData:
    """A graph, or the part of it that its reader may see."""

    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...]
    together: tuple[tuple[EntityId, EntityId, float], ...]
    """Pairs that share chunks, with how strongly."""


def to_json(data: GraphData) -> str:
    """One object with `entities`, `relations` and `together`, in camelCase."""
    value = {
        "entities": [entity.model_dump(mode="json") for entity in data.entities],
        "relations": [relation.model_dump(mode="json") for relation in data.relations],
        "together": [
            {"sourceId": source, "targetId": target, "weight": round(weight, 6)}
            for source, target, weight in data.together
        ],
    }
    return json.dumps(value, ensure_ascii=False, indent=2)


def to_csv(data: GraphData) -> str:
    """One line per edge with the names of its ends; spreadsheets and graph tools read it."""
    names = {entity.id: entity.name for entity in data.entities}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for relation in data.relations:
        sentence = relation.evidence[0].sentence if relation.evidence else ""
        cells = (names[relation.source_id], names[relation.target_id], relation.predicate, sentence)
        source, target, predicate, evidence = map(_harmless, cells)
        writer.writerow((source, target, predicate, f"{relation.weight:g}", evidence))
    for first, second, weight in data.together:
        writer.writerow((_harmless(names[first]), _harmless(names[second]), TOGETHER, f"{weight:.4g}", ""))
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
    for entity in data.entities:
        lines.append(f"    <node id={quoteattr(entity.id)}>")
        lines.append(f'      <data key="name">{_text(entity.name)}</data>')
        lines.append(f'      <data key="type">{entity.type}</data>')
        lines.append(f'      <data key="mentions">{entity.mention_count}</data>')
        lines.append("    </node>")
    for relation in data.relations:
        lines += _edge(relation.source_id, relation.target_id, relation.predicate, relation.weight)
    for source, target, weight in data.together:
        lines += _edge(source, target, TOGETHER, weight)
    lines += ["  </graph>", "</graphml>", ""]
    return "\n".join(lines)


def _edge(source: EntityId, target: EntityId, predicate: str, weight: float) -> list[str]:
    return [
        f"    <edge source={quoteattr(source)} target={quoteattr(target)}>",
        f'      <data key="predicate">{_text(predicate)}</data>',
        f'      <data key="weight">{weight:g}</data>',
        "    </edge>",
    ]


def _text(text: str) -> str:
    """Text that XML can hold: control characters have no place in it, escaped or not."""
    return escape("".join(character for character in text if character >= " " or character in "\t\n"))


def _harmless(cell: str) -> str:
    """A cell that a spreadsheet does not run as a formula."""
    return f"'{cell}" if cell[:1] in {"=", "+", "-", "@", "\t", "\r"} else cell
