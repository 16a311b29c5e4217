"""Office files of the format before 2007, through a converter where one is installed."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Final

from hybridrag.documents.formats import DOC, DOCX, PPT, PPTX, XLS, XLSX
from hybridrag.documents.readers.sheets import read_xlsx
from hybridrag.documents.readers.slides import read_pptx
from hybridrag.documents.readers.text import read_text
from hybridrag.documents.readers.word import read_docx
from hybridrag.documents.source import Source, took_too_long
from hybridrag.errors import UnknownFormat, UnreadableDocument
from hybridrag.types.documents import Document

_MODERN: Final = {DOC: ("docx", DOCX, read_docx), XLS: ("xlsx", XLSX, read_xlsx), PPT: ("pptx", PPTX, read_pptx)}
_TEXT_CONVERTERS: Final = (("antiword", "-m", "UTF-8.txt"), ("catdoc", "-d", "utf-8"))


def read_old_office(source: Source) -> Document:
    """What the file says, converted by LibreOffice, or for .doc by antiword or catdoc.

    Raises:
        UnknownFormat: none of them is installed.
        UnreadableDocument: the converter cannot read it.
    """
    ending, modern, read = _MODERN[source.mime_type]
    office = shutil.which("soffice") or shutil.which("libreoffice")
    with tempfile.TemporaryDirectory(prefix="hybridrag-") as temporary:
        folder = Path(temporary)
        given = folder / "file"
        given.write_bytes(source.data)
        if office is not None:
            home = f"-env:UserInstallation={(folder / 'profile').as_uri()}"
            _run(source, [office, home, "--headless", "--convert-to", ending, "--outdir", temporary, str(given)])
            made = folder / f"file.{ending}"
            if not made.exists():
                raise UnreadableDocument(source.name, "is damaged: LibreOffice cannot convert it")
            document = read(replace(source, data=made.read_bytes(), mime_type=modern))
            return replace(document, mime_type=source.mime_type)
        for program, *arguments in _TEXT_CONVERTERS if source.mime_type == DOC else ():
            if found := shutil.which(program):
                text = _run(source, [found, *arguments, str(given)])
                return read_text(replace(source, data=text, charset="utf-8"))
    raise UnknownFormat(
        source.name,
        "is an Office file of the format before 2007",
        hint=f"Install LibreOffice (or antiword for .doc), or save it as .{ending}.",
    )


def _run(source: Source, command: list[str]) -> bytes:
    try:
        done = subprocess.run(  # noqa: S603 (a program of this name on the path, without a shell)
            command, capture_output=True, check=False, timeout=source.limits.max_seconds, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as cause:
        raise took_too_long(source.name, source.limits.max_seconds) from cause
    if done.returncode != 0:
        raise UnreadableDocument(source.name, f"is damaged: {Path(command[0]).name} cannot convert it")
    return done.stdout
