"""A hostile file costs its own process: the next file, the parent and the terminal notice nothing."""

from __future__ import annotations

import gc
import gzip
import io
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from hybridrag.documents.isolate import IsolatedReader
from hybridrag.documents.limits import MIB, ReadLimits
from hybridrag.documents.read import DEFAULT_FORMATS
from hybridrag.documents.source import Source
from hybridrag.documents.worker import Answer, Request, receive, send, serve
from hybridrag.errors import DocumentTooLarge, UnknownFormat, UnreadableDocument
from hybridrag.types.documents import Document
from make_documents import check, make_pdf, read

PDF = make_pdf([[(10, "text of the page")]])
ENDLESS = b"* a\n" * 400_000
"""A list of 400,000 items in Markdown: many seconds of work."""


@pytest.fixture
def reader() -> Iterator[IsolatedReader]:
    with IsolatedReader() as isolated:
        yield isolated


def children() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "hybridrag.documents.worker" in " ".join(child.cmdline())]


def process_of(reader: IsolatedReader) -> int:
    assert reader._worker is not None
    return reader._worker._process.pid


def test_a_document_is_the_same_from_the_other_process(reader: IsolatedReader) -> None:
    document = reader.read(PDF, name="a.pdf")
    check(document)
    assert document == read(PDF, "a.pdf")


def test_what_is_packed_is_unpacked_and_read_in_the_other_process(reader: IsolatedReader) -> None:
    # Its own type says nothing of the risk: a PDF in a .gz was read in the process of the caller.
    assert reader.read(gzip.compress(b"# Plan"), name="a.md.gz").title == "Plan"
    assert len(children()) == 1


def test_the_process_is_started_when_needed_and_then_kept(reader: IsolatedReader) -> None:
    assert reader.read(b"plain", name="a.txt").text == "plain"
    assert reader._worker is None
    reader.read(b"<p>one", name="a.html")
    first = process_of(reader)
    reader.read(b"<p>two", name="b.html")
    assert process_of(reader) == first


def test_errors_come_back_as_they_are(reader: IsolatedReader) -> None:
    with pytest.raises(UnreadableDocument, match="has no text on its 1 page"):
        reader.read(make_pdf([[]]), name="a.pdf")
    with pytest.raises(DocumentTooLarge, match="max_pages") as caught:
        reader.read(PDF, name="a.pdf", limits=ReadLimits(max_pages=0))
    assert caught.value.setting == "documents.max_pages"
    with pytest.raises(UnknownFormat, match="is an image"):
        reader.read(b"\x89PNG\r\n\x1a\n", name="a.png")
    with pytest.raises(UnreadableDocument, match="is empty"):
        reader.read(b"", name="a.pdf")
    with pytest.raises(DocumentTooLarge, match="max_file_bytes"):
        reader.read(PDF, name="a.pdf", limits=ReadLimits(max_file_bytes=10))


def test_charset_and_date_reach_the_other_process(reader: IsolatedReader) -> None:
    document = reader.read("<p>縦".encode("cp932"), name="a.html", mime_type="text/html; charset=shift_jis")
    assert document.text == "縦"


@pytest.mark.heavy
def test_a_file_past_its_time_is_stopped_and_the_next_is_read(reader: IsolatedReader) -> None:
    with pytest.raises(UnreadableDocument, match=r"took longer than 1 s.*documents\.max_seconds"):
        reader.read(ENDLESS, name="slow.md", limits=ReadLimits(max_seconds=1))
    assert reader.read(PDF, name="a.pdf").text == "text of the page"


@pytest.mark.heavy
def test_a_file_past_its_memory_is_stopped_and_the_next_is_read(reader: IsolatedReader) -> None:
    items = b"[" + b"[],".join([b""] * 3_000_000) + b"1]"
    with pytest.raises(UnreadableDocument, match=r"needed more than 64 MiB of memory.*documents\.max_memory_bytes"):
        reader.read(items, name="large.json", limits=ReadLimits(max_memory_bytes=64 * MIB))
    assert reader.read(PDF, name="a.pdf").text == "text of the page"


@pytest.mark.heavy
def test_a_crash_is_one_clear_error_and_the_next_file_is_read(reader: IsolatedReader) -> None:
    reader.read(PDF, name="a.pdf")
    victim = process_of(reader)
    threading.Timer(0.5, os.kill, (victim, signal.SIGSEGV)).start()
    with pytest.raises(UnreadableDocument, match=r"crashed the reader \(SIGSEGV\)"):
        reader.read(ENDLESS, name="crash.md")
    assert reader.read(PDF, name="a.pdf").text == "text of the page"
    assert process_of(reader) != victim


@pytest.mark.heavy
def test_a_process_that_died_while_idle_is_replaced(reader: IsolatedReader) -> None:
    reader.read(PDF, name="a.pdf")
    assert reader._worker is not None
    reader._worker._process.kill()
    reader._worker._process.wait()
    assert reader.read(PDF, name="a.pdf").text == "text of the page"


@pytest.mark.heavy
def test_a_process_that_grew_large_makes_room(reader: IsolatedReader) -> None:
    page = b"<p>" + b"word " * 2_000_000
    reader.read(page, name="a.html", limits=ReadLimits(max_memory_bytes=300 * MIB))
    reader.read(PDF, name="a.pdf")
    assert len(children()) == 1


@pytest.mark.heavy
def test_no_process_stays_behind(reader: IsolatedReader) -> None:
    reader.read(PDF, name="a.pdf")
    assert len(children()) == 1
    reader.close()
    assert children() == []
    forgotten = IsolatedReader()
    forgotten.read(PDF, name="a.pdf")
    del forgotten
    gc.collect()
    assert children() == []


def test_reading_after_closing_starts_another_process(reader: IsolatedReader) -> None:
    reader.close()
    reader.close()
    assert reader.read(PDF, name="a.pdf").text == "text of the page"


def test_many_threads_get_their_own_answers(reader: IsolatedReader) -> None:
    pages = [f"<p>page {number}" for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(lambda page: reader.read(page.encode(), name="a.html").text, pages))
    assert texts == [page.removeprefix("<p>") for page in pages]


def test_without_a_second_process_everything_is_read_in_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for executable in ("", "/nowhere/python", "/bin/true"):
        monkeypatch.setattr(sys, "executable", executable)
        with IsolatedReader() as alone:
            assert alone.read(PDF, name="a.pdf").text == "text of the page"
            assert alone.read(PDF, name="b.pdf").text == "text of the page"


def read_upper(source: Source) -> Document:
    return read(source.data.upper(), "x.txt")


def test_a_readers_that_the_caller_added_runs_here() -> None:
    formats = DEFAULT_FORMATS.plus("application/pdf", lambda _: read("mine", "x.txt"))
    with IsolatedReader(formats=formats.plus("text/x-up", read_upper, extensions=[".up"])) as reader:
        assert reader.read(PDF, name="a.pdf").text == "mine"
        assert reader.read(b"abc", name="a.up").text == "ABC"
        assert children() == []


def test_a_script_without_a_main_guard_runs_once(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "print('start')\n"
        "from hybridrag.documents.isolate import IsolatedReader\n"
        "print(IsolatedReader().read(b'<p>hello', name='a.html').text)\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "start\nhello\n"
    assert done.stderr == ""


@pytest.mark.heavy
def test_ctrl_c_prints_nothing_from_the_other_process(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\n"
        "from hybridrag.documents.isolate import IsolatedReader\n"
        "reader = IsolatedReader()\n"
        "reader.read(b'<p>ready', name='a.html')\n"
        "print('ready', flush=True)\n"
        "try:\n"
        "    reader.read(open(sys.argv[1], 'rb').read(), name='slow.md')\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', reader._worker.is_alive())\n"
        "print(reader.read(b'<p>again', name='a.html').text)\n",
        encoding="utf-8",
    )
    slow = tmp_path / "slow.md"
    slow.write_bytes(ENDLESS)
    process = subprocess.Popen(
        [sys.executable, script, slow],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    # As a terminal does: to every process of the group.
    threading.Timer(1, os.killpg, (process.pid, signal.SIGINT)).start()
    out, errors = process.communicate(timeout=60)
    assert out == "interrupted False\nagain\n"
    assert errors == ""


def test_the_worker_answers_until_its_input_ends() -> None:
    requests, answers = io.BytesIO(), io.BytesIO()
    for data, name in ((b"<p>one", "a.html"), (b"", "b.html")):
        send(requests, Request(data, name, None, ReadLimits(), None))
    requests.seek(0)
    serve(requests, answers, limit_memory=False)
    answers.seek(0)
    outcomes = []
    while isinstance(answer := receive(answers), Answer):
        outcomes.append(answer.outcome)
    ready, document, error = outcomes
    assert ready is None
    assert isinstance(document, Document)
    assert document.text == "one"
    assert isinstance(error, UnreadableDocument)


def test_a_message_cut_off_is_the_end() -> None:
    whole = io.BytesIO()
    send(whole, Answer(None))
    assert receive(io.BytesIO(whole.getvalue()[:-1])) is None
    assert receive(io.BytesIO(whole.getvalue()[:3])) is None
