"""Each library in an environment of its own, so that none has to agree with another about versions."""

from __future__ import annotations

import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Peer:
    """A library to compare with."""

    name: str
    label: str
    """With its version, as the table shows it."""
    requirements: tuple[str, ...]
    variants: tuple[str, ...] = ("",)
    """The ways in which it searches one index."""
    splits_words: bool = False
    """Whether it searches by words: for a language without spaces it is tried with the words split beforehand too.
    Not where its own tokenizer takes such writing character by character: splitting changes nothing there."""
    note: str = ""


PEERS = (
    Peer(
        "bm25s",
        "bm25s 0.3.16",
        ("bm25s==0.3.16", "PyStemmer==3.1.0"),
        splits_words=True,
        note="keyword search; tokenizer with English stop words and the English stemmer, as in its README",
    ),
    Peer(
        "txtai",
        "txtai 9.14.0 hybrid",
        ("torch==2.13.0", "txtai==9.14.0"),
        splits_words=True,
        note="`Embeddings(hybrid=True, content=True)`",
    ),
    Peer(
        "haystack",
        "haystack-ai 3.4.0 BM25 + vectors, RRF",
        ("haystack-ai==3.4.0",),
        note="in-memory BM25 and embedding retrievers, joined by reciprocal rank fusion",
    ),
    Peer(
        "lightrag",
        "lightrag-hku 1.5.7",
        ("lightrag-hku==1.5.7",),
        variants=("naive", "local", "mix"),
        note="hybridrag's entities and relations as its custom graph; keywords of the question by hybridrag's rules, "
        "where LightRAG would ask an LLM; no reranker",
    ),
)


class CannotRun(Exception):
    """Why a library is not in the table."""


def python_of(peer: Peer, folder: Path) -> Path:
    """The Python of the peer's environment, made and filled where it is not there yet.

    Raises:
        CannotRun: pip could not install it.
    """
    home = folder / peer.name
    python = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    stamp = home / "installed.txt"
    wanted = "\n".join(peer.requirements)
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    print(f"Installing {' '.join(peer.requirements)} into {home}", flush=True)
    venv.create(home, with_pip=True)
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *peer.requirements]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise CannotRun(f"pip could not install it: {last_line(done.stderr)}")
    stamp.write_text(wanted, encoding="utf-8")
    return python


def last_line(text: str) -> str:
    """What a program said last, which is mostly why it ended."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
