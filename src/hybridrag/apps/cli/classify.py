"""`hybridrag classify`: what kind of answer a question wants."""

from __future__ import annotations

import click

from hybridrag import classify as classify_text
from hybridrag.apps.cli.options import json_option
from hybridrag.apps.cli.output import print_json, print_rows


@click.command()
@click.argument("text")
@json_option
def classify(*, text: str, as_json: bool) -> None:
    """Say what kind of answer a question wants, and what it names."""
    found = classify_text(text)
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    weights = found.suggested_weights
    rows = [
        ("type", found.type.value),
        ("confidence", f"{found.confidence:.2f}"),
        ("entities", ", ".join(found.extracted_entities) or "-"),
        ("relation", found.relation_hint.value if found.relation_hint else "-"),
        ("keywords", ", ".join(found.keywords) or "-"),
        ("weights", f"keyword {weights.keyword:g}, semantic {weights.semantic:g}, graph {weights.graph:g}"),
        ("intent", found.intent),
    ]
    print_rows(("what", "value"), rows)
