"""Answers of an LLM, kept so that nothing is asked and paid for twice."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Collection
from pathlib import Path
from typing import Protocol

FILE_NAME = "llm-answers.jsonl"
"""What the file is called inside an index."""


class ExtractionCache(Protocol):
    """Answers by key. Calls are thread-safe; once `put` returned, the answer survives the death of the process."""

    def get(self, key: str) -> str | None:
        """The answer, or None."""
        ...

    def put(self, key: str, answer: str) -> None:
        """Keep an answer; the last one counts."""
        ...

    def keep(self, keys: Collection[str]) -> int:
        """Forget all other answers, as those of documents that are gone; how many there were."""
        ...


class MemoryCache:
    """Answers for as long as the process lives."""

    def __init__(self) -> None:
        self._answers: dict[str, str] = {}

    def get(self, key: str) -> str | None:
        """The answer, or None."""
        return self._answers.get(key)

    def put(self, key: str, answer: str) -> None:
        """Keep an answer."""
        self._answers[key] = answer

    def keep(self, keys: Collection[str]) -> int:
        """Forget all other answers; how many there were."""
        gone = self._answers.keys() - set(keys)
        for key in gone:
            self._answers.pop(key, None)
        return len(gone)


class FileCache:
    """Answers in a file, one JSON object a line, read by place so that memory holds only the keys.

    FileCache(folder / FILE_NAME).put("k", "answer") -> a line {"key": "k", "answer": "answer"}

    A line is written at once and flushed to the disk. One that a crash cut short is passed over, and what several
    processes append to the same file is seen by all.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._places: dict[str, tuple[int, int]] = {}
        """Where in the file each key's line starts, and how long it is."""
        self._read_to = 0
        self._file_id: tuple[int, int] | None = None

    def get(self, key: str) -> str | None:
        """The answer, or None."""
        with self._lock:
            self._catch_up()
            place = self._places.get(key)
            return None if place is None else self._answer_at(key, *place)

    def put(self, key: str, answer: str) -> None:
        """Append an answer; the last one counts."""
        line = json.dumps({"key": key, "answer": answer}, ensure_ascii=False)
        # "backslashreplace" writes half of a surrogate pair as \udXXX: what JSON itself writes for it.
        data = line.encode("utf-8", "backslashreplace") + b"\n"
        with self._lock:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # A line that a crash cut short must not take this one with it.
            whole = _ends_line(self._path)
            with self._path.open("ab") as file:
                file.write(data if whole else b"\n" + data)
                file.flush()
                os.fsync(file.fileno())

    def keep(self, keys: Collection[str]) -> int:
        """Write the file anew without the other answers; how many there were."""
        wanted = set(keys)
        with self._lock:
            self._catch_up()
            gone = self._places.keys() - wanted
            if not gone:
                return 0
            kept = [self._line_at(*place) for key, place in sorted(self._places.items()) if key in wanted]
            beside = self._path.with_name(f"{self._path.name}.new")
            with beside.open("wb") as file:
                file.writelines(kept)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self._path)
            self._forget(None)
            return len(gone)

    def _catch_up(self) -> None:
        """Read the lines that came since the last look, or all where the file is another one."""
        try:
            now = self._path.stat()
        except FileNotFoundError:
            self._forget(None)
            return
        if self._file_id != (now.st_dev, now.st_ino) or now.st_size < self._read_to:
            self._forget((now.st_dev, now.st_ino))
        if now.st_size == self._read_to:
            return
        with self._path.open("rb") as file:
            file.seek(self._read_to)
            for line in file:
                if not line.endswith(b"\n"):
                    return  # another process is still writing it
                key = _key(line)
                if key is not None:
                    self._places[key] = (self._read_to, len(line))
                self._read_to += len(line)

    def _forget(self, file_id: tuple[int, int] | None) -> None:
        self._places.clear()
        self._read_to = 0
        self._file_id = file_id

    def _line_at(self, start: int, length: int) -> bytes:
        with self._path.open("rb") as file:
            file.seek(start)
            return file.read(length)

    def _answer_at(self, key: str, start: int, length: int) -> str | None:
        line = self._line_at(start, length)
        return str(json.loads(line)["answer"]) if _key(line) == key else None


def _ends_line(path: Path) -> bool:
    """Whether a line may follow: the file ends with a whole one, or has none."""
    try:
        with path.open("rb") as file:
            if file.seek(0, os.SEEK_END) == 0:
                return True
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"
    except FileNotFoundError:
        return True


def _key(line: bytes) -> str | None:
    """The key of a line that is whole."""
    try:
        item = json.loads(line)
    except (ValueError, RecursionError):
        return None
    whole = isinstance(item, dict) and isinstance(item.get("key"), str) and isinstance(item.get("answer"), str)
    return item["key"] if whole else None
