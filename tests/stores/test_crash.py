"""A process that dies at any moment loses nothing that it acknowledged, and nothing removed comes back."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from hybridrag.config import Settings, load_settings
from hybridrag.engine import Engine
from hybridrag.testing.embedders import HashEmbedder

KILLS = 120
NAMES = [f"file{number}.txt" for number in range(6)]


def _settings() -> Settings:
    return load_settings(env={}, overrides={"documents.isolate": False}).settings


def _content(name: str, version: int) -> str:
    """Several chunks that all carry the version: half a file would show."""
    return "\n\n".join(f"{name} part {part} version{version}. " + "filler words here. " * 60 for part in range(4))


def _work(index: Path, sources: Path, seed: int, pipe: Connection) -> None:
    """Add, sync and remove at random for ever, telling before and after each."""
    rng = random.Random(seed)
    engine = Engine.open(index, settings=_settings(), embedder=HashEmbedder())
    version = seed * 1000
    while True:
        name = rng.choice(NAMES)
        path = sources / name
        version += 1
        action = rng.choice(["add", "sync", "remove", "sync-remove"])
        wanted = None if "remove" in action else version
        pipe.send(("begin", name, wanted))
        if wanted is not None:
            path.write_text(_content(name, version))
        elif path.exists() and action == "sync-remove":
            path.unlink()
        if action == "add":
            engine.add(path)
        elif action == "remove":
            engine.remove(path)
            path.unlink(missing_ok=True)
        else:
            engine.sync(sources)
        pipe.send(("done", name, wanted))


def _versions(engine: Engine, sources: Path) -> dict[str, int | None]:
    """The version of each file in the index; a file of two versions, or of half its parts, is an error."""
    found: dict[str, int | None] = dict.fromkeys(NAMES)
    for file in engine.files():
        text = engine.text(file.id) or ""
        versions = {int(word[7:].rstrip(".")) for word in text.split() if word.startswith("version")}
        assert len(versions) == 1, "a file of two versions"
        assert text == _content(Path(file.name).name, *versions)
        found[Path(file.name).name] = versions.pop()
    del sources
    return found


@pytest.mark.heavy
def test_killed_at_any_moment_the_index_is_whole_and_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    index, sources = tmp_path / "index", tmp_path / "sources"
    sources.mkdir()
    # Forking saves the start of an interpreter per kill; no connection is open in the parent at that moment.
    context = multiprocessing.get_context("fork")
    rng = random.Random(20240229)
    acknowledged: dict[str, int | None] = dict.fromkeys(NAMES)
    for kill in range(KILLS):
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(index, sources, kill + 1, theirs), daemon=True)
        process.start()
        theirs.close()
        assert ours.poll(30), "the worker did not start"
        time.sleep(rng.uniform(0.0, 0.08))
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
        begun = _follow(ours, acknowledged)
        with Engine.open(index, settings=_settings(), embedder=HashEmbedder()) as engine:
            assert engine.check() == [], f"after kill {kill}"
            now = _versions(engine, sources)
        for name in NAMES:
            allowed = {acknowledged[name], begun[1]} if begun and begun[0] == name else {acknowledged[name]}
            assert now[name] in allowed, f"after kill {kill}: {name}"
        acknowledged = now
        _restore(sources, now)


def _follow(pipe: Connection, acknowledged: dict[str, int | None]) -> tuple[str, int | None] | None:
    """Take in what the worker said before it died; the action that it had begun and not finished."""
    begun: tuple[str, int | None] | None = None
    try:
        while pipe.poll():
            what, name, version = pipe.recv()
            if what == "begin":
                begun = (name, version)
            else:
                acknowledged[name] = version
                begun = None
    except (EOFError, OSError):
        pass
    pipe.close()
    return begun


def _restore(sources: Path, now: dict[str, int | None]) -> None:
    """Make the folder agree with the index, so that the next worker's sync changes one file only."""
    for name, version in now.items():
        if version is None:
            (sources / name).unlink(missing_ok=True)
        else:
            (sources / name).write_text(_content(name, version))
