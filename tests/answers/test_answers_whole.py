"""Answers over real files by the models that ship: what was answered wrongly or refused on such folders before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hybridrag import Engine, load_settings

FILES = {
    "pump.md": (
        "# Pump manual\n\n## How do I reset the pump?\nHold the green button for five seconds. Then wait a minute.\n\n"
        "## How often is the filter changed?\nEvery six months.\n"
    ),
    "incident.md": (
        "# Incident 12\n\nThe line stopped on 4 March. The outage was caused by a burst cooling pipe in hall 2.\n"
    ),
    "filesystems.md": (
        "# Filesystems\n\nExt4, the default filesystem for Debian, was introduced in 2008.\n\n## Exit codes\n\n"
        "The command ends with exit code 125 when it is interrupted.\n"
    ),
    "更新手順.md": (
        "# 更新手順\n\nシステムを更新するには、次のコマンドを実行します。\n\n```\napt update\napt full-upgrade\n```\n\n"
        "NMU とは、メンテナ以外の者が行うパッケージのアップロードのことである。\n"
    ),
    "states.csv": "state,city,population\nOhio,Columbus,905748\nTexas,Austin,961855\nUtah,Salt Lake City,199723\n",
    "lighthouse.txt": "The Marten Lighthouse was designed by Elvira Quist in 1874.\n",
    "quist.txt": "Elvira Quist grew up in Norrhamn.\n",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("files")
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    index: Path = folder.parent / "index"
    with Engine.open(index, settings=load_settings(env={}, overrides={"documents.isolate": False}).settings) as opened:
        opened.sync(folder)
        yield opened


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("How do I reset the pump?", "Hold the green button for five seconds."),  # its own heading was quoted, twice
        ("How often is the filter changed?", "Every six months."),
        ("What caused the incident?", "The outage was caused by a burst cooling pipe in hall 2."),  # refused at .97
        ("What is the default filesystem?", "Ext4, the default filesystem for Debian"),  # refused though verbatim
        ("NMU とは", "メンテナ以外の者が行うパッケージのアップロード"),  # refused, in English
        ("システムを更新するには？", "apt update\napt full-upgrade"),  # the command was left out
        ("When does the command end with exit code 125?", "when it is interrupted"),
        ("Which city belongs to Texas?", "state: Texas | city: Austin | population: 961855"),  # the whole table came
        ("Where did the designer of the Marten Lighthouse grow up?", "Norrhamn"),  # the README's own example
    ],
)
def test_what_stands_there_is_answered(engine: Engine, question: str, said: str) -> None:
    answer = engine.answer(question)
    assert not answer.abstained
    assert said in answer.text
    assert "#" not in answer.text


def test_a_quotation_is_cited_by_its_own_line_and_heading(engine: Engine) -> None:
    place = engine.answer("How often is the filter changed?").citations[0].sources
    assert place is not None
    assert (place.line_start, place.headings[-1]) == (7, "How often is the filter changed?")


def test_an_overview_gives_a_sentence_of_each_document_and_no_heading(engine: Engine) -> None:
    answer = engine.answer("What are the main themes of these documents?")
    assert len({citation.sources.file_name for citation in answer.citations if citation.sources}) >= 4
    assert all(sentence.text[-1] in ".。" for sentence in answer.sentences)


def test_a_refusal_speaks_the_questions_language_and_shows_what_is_near(engine: Engine) -> None:
    answer = engine.answer("バナナの値段はいくらですか")
    assert answer.abstained
    assert answer.language == "ja"
    assert answer.text.startswith("文書には")
    assert answer.nearest
