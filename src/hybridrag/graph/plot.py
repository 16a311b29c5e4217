"""Draw a part of the graph as SVG, alone or inside an HTML page; nothing is fetched from anywhere."""

from __future__ import annotations

from html import escape

import numpy as np
from numpy.typing import NDArray

from hybridrag.graph.export import GraphData
from hybridrag.types.graph import EntityType

WIDTH, HEIGHT, MARGIN = 1200, 900, 70
ITERATIONS = 200
GRAVITY = 3.0
"""How much the middle attracts every node: what nothing joins stands around the rest, and not far off in a corner."""

COLOURS = {
    EntityType.PERSON: "#d1495b",
    EntityType.ORGANISATION: "#00798c",
    EntityType.PLACE: "#66a182",
    EntityType.PRODUCT: "#edae49",
    EntityType.EVENT: "#8d6a9f",
    EntityType.WORK: "#2e4057",
    EntityType.CONCEPT: "#5f7d95",
    EntityType.TIME: "#a0a0a0",
    EntityType.OTHER: "#7a7a7a",
}


def to_svg(data: GraphData, *, seed: int = 1) -> str:
    """A picture of the entities and what joins them; the same graph gives the same picture."""
    places = _layout(data, seed)
    at = {entity.id: places[number] for number, entity in enumerate(data.entities)}
    most = max((entity.mention_count for entity in data.entities), default=1)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" role="img">',
        f"<title>Knowledge graph: {len(data.entities)} entities</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    for first, second, weight in data.together:
        lines.append(_line(at[first], at[second], f'stroke="#cccccc" stroke-width="{min(3.0, 0.5 + weight):.1f}"', ""))
    for relation in data.relations:
        style = 'stroke="#555555" stroke-width="1.5"'
        lines.append(_line(at[relation.source_id], at[relation.target_id], style, relation.predicate))
    for entity in data.entities:
        x, y = at[entity.id]
        radius = 6 + 12 * (entity.mention_count / most) ** 0.5
        name = escape(entity.name)
        lines.append(
            f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{radius:.1f}" fill="{COLOURS[entity.type]}">'
            f"<title>{name} ({entity.type})</title></circle>"
        )
        lines.append(
            f'<text x="{x:.0f}" y="{y - radius - 4:.0f}" text-anchor="middle" stroke="#ffffff" stroke-width="3" '
            f'paint-order="stroke" fill="#222222" font-size="13">{name}</text>'
        )
    lines.append("</svg>")
    return "\n".join(lines) + "\n"


def to_html(data: GraphData, *, heading: str) -> str:
    """The picture in a page with a legend."""
    kinds = sorted({entity.type for entity in data.entities})
    legend = " ".join(f'<span style="color:{COLOURS[kind]}">&#9679; {kind}</span>' for kind in kinds)
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{escape(heading)}</title>\n'
        '<body style="font-family:sans-serif;margin:1rem">\n'
        f"<h1>{escape(heading)}</h1>\n<p>{legend}</p>\n{to_svg(data)}</body>\n</html>\n"
    )


def _line(start: NDArray[np.float64], end: NDArray[np.float64], style: str, label: str) -> str:
    line = f'<line x1="{start[0]:.0f}" y1="{start[1]:.0f}" x2="{end[0]:.0f}" y2="{end[1]:.0f}" {style}/>'
    if not label:
        return line
    middle = (start + end) / 2
    return (
        f'{line}<text x="{middle[0]:.0f}" y="{middle[1]:.0f}" text-anchor="middle" font-size="10" '
        f'fill="#777777">{escape(label)}</text>'
    )


def _layout(data: GraphData, seed: int) -> NDArray[np.float64]:
    """Force-directed (Fruchterman and Reingold 1991): joined nodes attract, all repel, steps shrink."""
    count = len(data.entities)
    rng = np.random.default_rng(seed)
    places = rng.uniform(-1, 1, size=(count, 2))
    number = {entity.id: place for place, entity in enumerate(data.entities)}
    pairs = [(number[first], number[second]) for first, second, _ in data.together]
    pairs += [(number[relation.source_id], number[relation.target_id]) for relation in data.relations]
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    ideal = 1.5 / max(1.0, count**0.5)
    for step in range(ITERATIONS):
        between = places[:, None, :] - places[None, :, :]
        distance = np.maximum(np.linalg.norm(between, axis=2), 1e-6)
        force = (between * (ideal**2 / distance**2)[:, :, None]).sum(axis=1) - GRAVITY * places
        if len(edges):
            pull = places[edges[:, 1]] - places[edges[:, 0]]
            pull *= (np.linalg.norm(pull, axis=1) / ideal)[:, None]
            np.add.at(force, edges[:, 0], pull)
            np.add.at(force, edges[:, 1], -pull)
        length = np.maximum(np.linalg.norm(force, axis=1, keepdims=True), 1e-6)
        places += force / length * np.minimum(length, 0.1 * (1 - step / ITERATIONS))
    span = np.maximum(places.max(axis=0, initial=-1) - places.min(axis=0, initial=1), 1e-6)
    unit = (places - places.min(axis=0, initial=1)) / span
    room = np.array([WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN], dtype=np.float64)
    scaled: NDArray[np.float64] = MARGIN + unit * room
    return scaled
