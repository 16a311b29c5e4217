"""How much of a file is read before it is refused, so that one file can never stop the others."""

from __future__ import annotations

from dataclasses import dataclass

from hybridrag.errors import DocumentTooLarge

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """The limits of one read; each stands in the settings as `documents.<name>`.

    ReadLimits(max_pages=10) -> everything else at its default
    """

    max_file_bytes: int = 100 * MIB
    """Of the file as it lies on disk."""
    max_text_chars: int = 20_000_000
    """Of the text read from it; about twenty long novels."""
    max_pages: int = 5_000
    """Pages, slides, sheets or chapters."""
    max_unpacked_bytes: int = 500 * MIB
    """Of everything inside a zipped format (DOCX, PPTX, XLSX, EPUB) together."""
    max_unpack_ratio: float = 200
    """Unpacked to packed size of a zipped format; looked at only once it unpacks to more than 10 MiB."""
    max_rows: int = 1_000_000
    """Rows of a table, or records of a JSON file."""
    max_seconds: float = 120
    """For one file."""
    max_memory_bytes: int = 1024 * MIB
    """For one file, over what the reading process holds anyway; where the platform can limit it."""
    ocr: bool = False
    """Whether scanned pages go through `ocrmypdf`, which costs far more time than anything else."""


DEFAULT_LIMITS = ReadLimits()


def too_large(name: str, reason: str, limit: str) -> DocumentTooLarge:
    """The error for a file over the limit of that field name.

    too_large("a.pdf", "has 9000 pages", "max_pages") -> DocumentTooLarge naming `documents.max_pages`
    """
    return DocumentTooLarge(name, reason, setting=f"documents.{limit}")


def in_units(count: int) -> str:
    """A number of bytes as people write it.

    1610612736 -> "1.5 GiB"; 104857600 -> "100 MiB"; 900 -> "900 bytes"
    """
    for factor, unit in ((1024 * MIB, "GiB"), (MIB, "MiB"), (1024, "KiB")):
        if count >= factor:
            return f"{count / factor:.1f}".removesuffix(".0") + f" {unit}"
    return f"{count} bytes"
