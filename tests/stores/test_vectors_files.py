"""Saving is all or nothing, whatever happens in the middle, and loading notices what does not belong together."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from hybridrag.errors import StoreCorrupt, StoreError
from hybridrag.stores.vectors.choose import build_index, load_index
from hybridrag.stores.vectors.exact import ExactIndex
from hybridrag.stores.vectors.files import MANIFEST, Manifest, commit, map_part, read_manifest, verify_parts
from hybridrag.stores.vectors.index import SMALL_TAIL, MatrixIndex
from hybridrag.testing.vectors import anisotropic

DIMENSION = 16
KINDS = ("exact", "quantised", "diskann")
VECTORS = anisotropic(600, DIMENSION, seed=1)


def filled(kind: str, count: int, *, first: int = 0) -> MatrixIndex:
    index = build_index(kind, DIMENSION)
    index.add(np.arange(count, dtype=np.int64), VECTORS[first : first + count])
    return index


def parts(folder: Path) -> dict[str, str]:
    return {role: part.name for role, part in read_manifest(folder).parts.items()}


# A writer that saves version after version: version v holds keys 0 .. 49 + v, and key 0 has vector v.
WRITER = """
import sys
from pathlib import Path
import numpy as np
from hybridrag.stores.vectors.choose import build_index, load_index
from hybridrag.testing.vectors import anisotropic

kind, folder = sys.argv[1], Path(sys.argv[2])
vectors = anisotropic(600, 16, seed=1)
index = load_index(kind, folder, 16)
version = int(index.stamp)
print("ready", flush=True)
while True:
    version += 1
    if version % 2:
        index = build_index(kind, 16)
    index.add(np.arange(50 + version), vectors[: 50 + version])
    index.add(np.array([0]), vectors[version : version + 1])
    index.save(folder, stamp=str(version))
    print("saved", flush=True)
"""


@pytest.mark.heavy
@pytest.mark.parametrize("kind", KINDS)
def test_a_process_killed_while_saving_leaves_the_old_or_the_new_index(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    first = filled(kind, 50)
    first.save(folder, stamp="0")
    first.close()
    chance = random.Random(7)
    for saves in (0, 1, 2, 0, 3, 1):
        _kill_a_writer(kind, folder, saves=saves, seconds=chance.uniform(0.0, 0.03))
        index = load_index(kind, folder, DIMENSION)
        version = int(index.stamp)
        assert index.keys().tolist() == list(range(50 + version))
        key, cosine = index.search(VECTORS[version], 1)[0]
        assert cosine > 0.999
        assert key in {0, version}
        verify_parts(folder)
        index.save(folder, stamp=index.stamp)
        index.close()
        assert {path.name for path in folder.iterdir()} == {MANIFEST, *parts(folder).values()}
    assert version >= 7


def _kill_a_writer(kind: str, folder: Path, *, saves: int, seconds: float) -> None:
    """Kill it that many saves and then so many seconds after its start."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, kind, str(folder)], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        for _ in range(saves):
            assert writer.stdout.readline() == "saved\n"
        time.sleep(seconds)
        os.kill(writer.pid, signal.SIGKILL)


@pytest.mark.parametrize("kind", KINDS)
def test_an_open_index_goes_on_answering_after_another_was_saved_over_it(kind: str, tmp_path: Path) -> None:
    filled(kind, 300).save(tmp_path)
    reader = load_index(kind, tmp_path, DIMENSION)
    before = [reader.search(query, 10) for query in VECTORS[:20]]
    filled(kind, 200, first=300).save(tmp_path)
    assert [reader.search(query, 10) for query in VECTORS[:20]] == before
    assert len(load_index(kind, tmp_path, DIMENSION)) == 200


def test_loading_while_another_thread_saves_always_gives_a_whole_index(tmp_path: Path) -> None:
    filled("exact", 10).save(tmp_path, stamp="10")
    done = threading.Event()

    def keep_saving() -> None:
        for count in range(11, 70):
            filled("exact", count).save(tmp_path, stamp=str(count))
        done.set()

    writer = threading.Thread(target=keep_saving)
    writer.start()
    while not done.is_set():
        index = ExactIndex.load(tmp_path, dimension=DIMENSION)
        assert len(index) == int(index.stamp)
    writer.join()


def test_the_stamp_given_to_save_is_there_after_load(tmp_path: Path) -> None:
    index = filled("exact", 5)
    assert index.stamp == ""
    index.save(tmp_path, stamp="state 7")
    assert index.stamp == "state 7"
    assert ExactIndex.load(tmp_path, dimension=DIMENSION).stamp == "state 7"


def test_a_small_change_is_saved_without_writing_the_vectors_again(tmp_path: Path) -> None:
    index = filled("exact", 400)
    index.save(tmp_path)
    main = parts(tmp_path)["matrix"]
    index.add(np.array([900]), VECTORS[500:501])
    index.remove(np.array([3]))
    index.save(tmp_path)
    assert parts(tmp_path)["matrix"] == main
    assert len(ExactIndex.load(tmp_path, dimension=DIMENSION)) == 400


@pytest.mark.parametrize("change", ["add", "remove"])
def test_many_changes_are_written_into_a_new_main_part(change: str, tmp_path: Path) -> None:
    index = filled("exact", 200)
    index.save(tmp_path)
    main = parts(tmp_path)["matrix"]
    if change == "add":
        index.add(np.arange(1000, 1001 + SMALL_TAIL), VECTORS[: SMALL_TAIL + 1])
    else:
        index.remove(np.arange(80))
    index.save(tmp_path)
    assert parts(tmp_path)["matrix"] != main
    assert not (tmp_path / main).exists()
    assert ExactIndex.load(tmp_path, dimension=DIMENSION).keys().tolist() == index.keys().tolist()


def test_an_index_saved_over_by_another_writes_all_of_itself_again(tmp_path: Path) -> None:
    one, other = filled("exact", 100), filled("exact", 50)
    one.save(tmp_path)
    other.save(tmp_path)
    one.save(tmp_path)
    assert len(ExactIndex.load(tmp_path, dimension=DIMENSION)) == 100


def test_an_index_whose_folder_was_emptied_writes_all_of_itself_again(tmp_path: Path) -> None:
    index = filled("exact", 100)
    index.save(tmp_path / "index")
    shutil.rmtree(tmp_path / "index")
    index.save(tmp_path / "index")
    assert len(ExactIndex.load(tmp_path / "index", dimension=DIMENSION)) == 100


def test_a_first_save_that_fails_leaves_an_empty_folder(tmp_path: Path) -> None:
    with file_size_limit(12_000), pytest.raises(StoreError, match="cannot be written"):
        filled("exact", 600).save(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_files_of_other_names_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "vectors-old.txt").write_text("mine too")
    left_over = tmp_path / ".vectors-0123456789abcdef.matrix.tmp"
    left_over.write_bytes(b"half of a save")
    filled("exact", 5).save(tmp_path)
    assert (tmp_path / "notes.txt").exists()
    assert (tmp_path / "vectors-old.txt").exists()
    assert not left_over.exists()


@pytest.mark.parametrize(("kind", "room"), [("exact", 12_000), ("quantised", 12_000), ("diskann", 60_000)])
def test_a_disk_that_is_full_leaves_the_saved_index_and_nothing_half_written(
    kind: str, room: int, tmp_path: Path
) -> None:
    filled(kind, 100).save(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    larger = filled(kind, 600)
    with file_size_limit(room), pytest.raises(StoreError, match="cannot be written") as caught:
        larger.save(tmp_path)
    assert "the saved index is as it was" in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert len(load_index(kind, tmp_path, DIMENSION)) == 100
    larger.save(tmp_path)
    assert len(load_index(kind, tmp_path, DIMENSION)) == 600


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """What a full disk looks like to a program: a write that is refused."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_folder_that_cannot_be_made_is_one_clear_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreError, match="cannot be written"):
        filled("exact", 5).save(tmp_path / "file")
    with pytest.raises(StoreCorrupt, match=f"{MANIFEST} is missing"):
        ExactIndex.load(tmp_path / "file", dimension=DIMENSION)


def test_a_manifest_that_cannot_be_opened_is_one_clear_sentence(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).mkdir()
    with pytest.raises(StoreError, match="cannot be read"):
        ExactIndex.load(tmp_path, dimension=DIMENSION)


@pytest.mark.parametrize("role", ["matrix", "diskann.db"])
def test_a_large_part_of_another_index_under_the_right_name_is_noticed(role: str, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    filled("diskann", 50).save(one)
    filled("diskann", 50, first=100).save(other)
    shutil.copyfile(other / parts(other)[role], one / parts(one)[role])
    with pytest.raises(StoreCorrupt, match="belongs to another index"):
        load_index("diskann", one, DIMENSION)


@pytest.mark.parametrize("role", ["keys", "delta", "codes"])
def test_a_changed_byte_in_a_small_part_is_noticed_when_loading(role: str, tmp_path: Path) -> None:
    index = build_index("quantised", DIMENSION)
    index.add(np.arange(5000), anisotropic(5000, DIMENSION, seed=2))
    index.save(tmp_path)
    index.remove(np.array([4]))
    index.save(tmp_path)
    _flip(tmp_path / parts(tmp_path)[role])
    with pytest.raises(StoreCorrupt, match="is not what was written"):
        load_index("quantised", tmp_path, DIMENSION)


def test_a_changed_byte_among_the_vectors_is_noticed_by_a_full_check(tmp_path: Path) -> None:
    filled("exact", 100).save(tmp_path)
    verify_parts(tmp_path)
    _flip(tmp_path / parts(tmp_path)["matrix"])
    with pytest.raises(StoreCorrupt, match="is not what was written"):
        verify_parts(tmp_path)
    (tmp_path / parts(tmp_path)["keys"]).unlink()
    with pytest.raises(StoreCorrupt, match="is missing"):
        verify_parts(tmp_path)


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "cannot be read"),
        ("[]", "cannot be read"),
        ("{}", "of format None"),
        ('{"format": 2}', "of format 2, and this version reads 1"),
        ('{"format": 1, "kind": "exact"}', "cannot be read"),
    ],
)
def test_a_foreign_manifest_is_damage(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(StoreCorrupt, match=said):
        ExactIndex.load(tmp_path, dimension=DIMENSION)


def test_a_manifest_changed_by_hand_is_damage(tmp_path: Path) -> None:
    filled("exact", 5).save(tmp_path)
    content = json.loads((tmp_path / MANIFEST).read_text())
    content["stamp"] = "forged"
    (tmp_path / MANIFEST).write_text(json.dumps(content))
    with pytest.raises(StoreCorrupt, match="was changed"):
        ExactIndex.load(tmp_path, dimension=DIMENSION)


def test_an_index_of_another_kind_is_not_opened(tmp_path: Path) -> None:
    filled("exact", 5).save(tmp_path)
    with pytest.raises(StoreCorrupt, match="of kind exact, not quantised"):
        load_index("quantised", tmp_path, DIMENSION)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"parts": {}}, "not complete"),
        ({"mainRows": 4}, "belongs to another index"),
        ({"tailRows": 4}, "belongs to another index"),
    ],
)
def test_a_manifest_that_does_not_fit_its_parts_is_damage(change: dict[str, object], said: str, tmp_path: Path) -> None:
    filled("exact", 5).save(tmp_path)
    content = json.loads((tmp_path / MANIFEST).read_text()) | change
    shutil.copytree(tmp_path, tmp_path / "copy")
    (tmp_path / "copy" / MANIFEST).write_text(json.dumps(Manifest.model_validate(content).signed().model_dump()))
    with pytest.raises(StoreCorrupt, match=said):
        ExactIndex.load(tmp_path / "copy", dimension=DIMENSION)


def test_the_graph_is_part_of_a_diskann_index(tmp_path: Path) -> None:
    filled("diskann", 5).save(tmp_path)
    manifest = read_manifest(tmp_path)
    without = {role: part for role, part in manifest.parts.items() if role != "diskann.db"}
    commit(tmp_path, manifest.model_copy(update={"parts": without}))
    with pytest.raises(StoreCorrupt, match="not complete"):
        load_index("diskann", tmp_path, DIMENSION)


def test_the_manifest_counts_live_keys(tmp_path: Path) -> None:
    index = filled("exact", 400)
    index.save(tmp_path)
    index.remove(np.array([1, 2]))
    index.add(np.array([500]), VECTORS[:1])
    index.save(tmp_path)
    manifest = read_manifest(tmp_path)
    assert manifest.count == len(index) == 399
    assert map_part(tmp_path, manifest.parts["keys"], verify=True).nbytes == 8 * 400
