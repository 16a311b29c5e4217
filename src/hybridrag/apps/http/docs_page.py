"""The documentation page: made of the OpenAPI description, plain HTML without scripts, from this server alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

STYLE = """\
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
:root { color-scheme: light dark }
code, pre { font-family: ui-monospace, monospace; font-size: .9em }
pre { overflow: auto; padding: .75rem; border: 1px solid color-mix(in srgb, currentColor 20%, transparent) }
h2 { margin-top: 2.5rem } summary { cursor: pointer; padding: .4rem 0 }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; padding: .2rem .6rem; vertical-align: top }
.method { display: inline-block; min-width: 4.5rem; font-weight: 700 }
"""


def docs_page(api: Mapping[str, Any]) -> str:
    """The page of an OpenAPI description."""
    info = api["info"]
    sections: dict[str, list[str]] = {}
    for path, methods in api["paths"].items():
        for method, operation in methods.items():
            tag = (operation.get("tags") or ["other"])[0]
            sections.setdefault(tag, []).append("".join(_operation(api, path, method, operation)))
    body = "".join(f"<h2>{escape(tag)}</h2>{''.join(parts)}" for tag, parts in sections.items())
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(info['title'])} API</title>"
        '<link rel="stylesheet" href="/docs/style.css"></head><body>'
        f"<h1>{escape(info['title'])} API {escape(info['version'])}</h1>"
        f"<p>{escape(info.get('description', ''))}</p>"
        '<p>For programs: <a href="/openapi.json">openapi.json</a></p>'
        f"{body}</body></html>"
    )


def _operation(api: Mapping[str, Any], path: str, method: str, operation: Mapping[str, Any]) -> Iterator[str]:
    text = escape(operation.get("description") or operation.get("summary") or "")
    yield f'<details><summary><span class="method">{method.upper()}</span> <code>{escape(path)}</code> {text}</summary>'
    rows = [
        f"<tr><td><code>{escape(one['name'])}</code></td><td>{escape(one['in'])}</td>"
        f"<td>{'needed' if one.get('required') else ''}</td><td>{escape(one.get('description', ''))}</td></tr>"
        for one in operation.get("parameters", ())
    ]
    if rows:
        yield f"<table>{''.join(rows)}</table>"
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        yield f"<p>Body ({escape(kind)}):</p><pre>{_shown(api, content.get('schema', {}))}</pre>"
    for status, response in operation.get("responses", {}).items():
        if str(status).startswith("2"):
            for content in response.get("content", {}).values():
                yield f"<p>Answer {escape(str(status))}:</p><pre>{_shown(api, content.get('schema', {}))}</pre>"
    yield "</details>"


def _shown(api: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """A schema as an example of its shape."""
    return escape(json.dumps(_shape(api, schema, 3), indent=2, ensure_ascii=False))


def _shape(api: Mapping[str, Any], schema: Mapping[str, Any], depth: int) -> Any:
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return _shape(api, api["components"]["schemas"][name], depth) if depth else name
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return _shape(api, schema[choice][0], depth)
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    kind = schema.get("type")
    if kind == "object" and "properties" in schema:
        return {name: _shape(api, part, depth - 1) for name, part in schema["properties"].items()} if depth else "{...}"
    if kind == "array":
        return [_shape(api, schema.get("items", {}), depth)]
    return schema.get("format") or kind or "any"
