"""Rich text (RTF): its paragraphs."""

from __future__ import annotations

from hybridrag.documents.build import DocumentBuilder
from hybridrag.documents.source import Source
from hybridrag.documents.tables import find_header, row_text
from hybridrag.types.documents import BlockKind, Document


def read_rtf(source: Source) -> Document:
    r"""The text, a block per paragraph; rows of tables name their columns.

    "{\rtf1 Plan\par Go.}" -> paragraphs "Plan", "Go."
    """
    from striprtf.striprtf import rtf_to_text  # noqa: PLC0415 (keeps start-up fast)

    text = rtf_to_text(source.data.decode("latin-1"), errors="replace")  # type: ignore[no-untyped-call]
    source.check_length(len(text))
    builder = DocumentBuilder(source)
    rows: list[list[str]] = []
    for line in [*text.split("\n"), ""]:
        # The library ends every cell by a bar.
        if line.endswith("|"):
            rows.append(line[:-1].split("|"))
            continue
        header = find_header(rows)
        for index, row in enumerate(rows):
            names = rows[header] if header is not None and index > header else None
            builder.add(BlockKind.TABLE_ROW, row_text(row, names))
        rows = []
        builder.add(BlockKind.PARAGRAPH, line.replace("\xa0", " "))
    return builder.document()
