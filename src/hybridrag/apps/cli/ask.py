"""`hybridrag ask`: an answer with citations, or what the documents do not hold."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from hybridrag import Answer, parse_query
from hybridrag.apps.cli.open import check_known, open_engine
from hybridrag.apps.cli.options import config_option, index_option, json_option
from hybridrag.apps.cli.output import print_json, printable
from hybridrag.apps.cli.query_options import query_fields, query_options

READ = 10
"""Results that an answer is made from, unless --limit says otherwise."""

_SAYS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "yes": "Yes",
        "no": "No",
        "nearest": "Nearest passages:",
        "unsupported": "Left out, as the passages do not say it:",
    },
    "ja": {
        "yes": "はい",
        "no": "いいえ",
        "nearest": "最も近い記述:",
        "unsupported": "次の文は、引用元に書かれていないため省きました:",
    },
}


@click.command()
@click.argument("text")
@query_options
@index_option
@config_option
@json_option
def ask(*, text: str, index: Path | None, config: Path | None, as_json: bool, **options: Any) -> None:
    """Answer a question with citations, or say what the documents do not hold.

    The answer is made of the documents' own sentences; where an LLM is set, it writes it, with the same citations.
    """
    fields = query_fields(text, {**options, "limit": READ if options["limit"] is None else options["limit"]})
    with open_engine(index, config, create=False) as engine:
        check_known(engine, workspaces=options["workspace"], types=options["file_type"])
        answer = engine.answer(parse_query(fields))
    if as_json:
        print_json(answer.model_dump(mode="json"))
        return
    _print(answer)


def _print(answer: Answer) -> None:
    says = _SAYS.get(answer.language, _SAYS["en"])
    short = ", ".join(filter(None, (says.get(answer.yes_no or ""), answer.short.text if answer.short else "")))
    if short and short != answer.sentences[0].text:
        click.echo(click.style(printable(short), bold=True))
        click.echo()
    click.echo(printable(answer.text))
    if answer.citations:
        click.echo()
    for citation in answer.citations:
        click.echo(printable(f"[{citation.number}] {_place(citation.sources, citation.result_id)}"))
    for sentence in answer.unsupported:
        click.echo(printable(f"\n{says['unsupported']} {sentence}"))
    if answer.abstained and answer.nearest:
        click.echo(f"\n{says['nearest']}")
        for near in answer.nearest:
            click.echo(printable(f"- {near.text}"))
            click.echo(printable(f"  {_place(near.sources, near.result_id)}"))


def _place(sources: Any, otherwise: str) -> str:
    if sources is None:
        return otherwise
    if sources.external_url:
        return f"{sources.external_url} (from the web)"
    place = f", {sources.place}" if sources.place else ""
    headings = f" > {' > '.join(sources.headings)}" if sources.headings else ""
    return f"{sources.shown_name or sources.file_name or sources.file_id}{place}{headings}"
