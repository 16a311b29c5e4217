"""`hybridrag query`: what a search would be asked."""

from __future__ import annotations

from typing import Any

import click

from hybridrag import parse_query
from hybridrag.apps.cli.options import json_option
from hybridrag.apps.cli.output import print_json
from hybridrag.apps.cli.query_options import query_fields, query_options


@click.command()
@click.argument("text")
@query_options
@json_option
def query(*, text: str, as_json: bool, **options: Any) -> None:  # noqa: ARG001 (output is JSON either way)
    """Check a query and print it as JSON, without searching.

    Shows what every default is, and what an HTTP client would send.
    """
    print_json(parse_query(query_fields(text, options)).model_dump(mode="json"))
