"""Accept of a change set of 100 files, against plain writes with the same number of syncs."""

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from remora.workspaces.apply.merge_change_set import FilePatch, prepare_changes
from remora.workspaces.apply.transaction import write_changes

FILES = 100
LINES = 200
ROUNDS = 5


def main() -> dict[str, float]:
    """Return the ratio of one change set of 100 files to plain writes with the same number of syncs."""
    ours, plain, syncs = [], [], 0
    for _ in range(ROUNDS):
        seconds, syncs = _counted(_remora)
        ours.append(seconds)
        plain.append(_plain(syncs))
    ratio = statistics.median(ours) / statistics.median(plain)
    each = statistics.median(ours) / FILES * 1000
    print(f"one change set of {FILES} files            {each:6.2f} ms a file, {syncs} syncs in all")
    print(f"plain writes with as many syncs         ours takes {ratio:.2f} x   (aim <= 3)")
    return {"accept_over_plain_writes": ratio}


def _text(number: int, *, new: bool) -> bytes:
    lines = [f"value_{number}_{line} = {line}\n" for line in range(LINES)]
    if new:
        lines[LINES // 2] = "mended = True\n"
    return "".join(lines).encode()


def _names() -> list[str]:
    return [f"part{number % 10}/m{number}.py" for number in range(FILES)]


def _old_tree(root: Path) -> None:
    for number, name in enumerate(_names()):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_text(number, new=False))


def _remora() -> float:
    with tempfile.TemporaryDirectory() as folder:
        root, state = Path(folder, "root"), Path(folder, "state")
        _old_tree(root)
        patches = [
            FilePatch(path=name, base=_text(n, new=False), theirs=_text(n, new=True), mode=0o644)
            for n, name in enumerate(_names())
        ]
        os.sync()
        start = time.perf_counter()
        conflicts = write_changes(prepare_changes(root, patches), state, record=lambda: None)
        seconds = time.perf_counter() - start
        assert not conflicts
        assert all(
            (root / name).read_bytes() == _text(n, new=True) for n, name in enumerate(_names())
        )
        return seconds


def _counted(work: Callable[[], float]) -> tuple[float, int]:
    """Return seconds and the number of syncs."""
    real, calls = os.fsync, 0

    def counting(file: int) -> None:
        nonlocal calls
        calls += 1
        real(file)

    os.fsync = counting  # type: ignore[assignment]
    try:
        return work(), calls
    finally:
        os.fsync = real


def _plain(syncs: int) -> float:
    """Write each file as a synced temporary file, rename it over the old one, then sync the folder.

    The syncs that are left over are those of copies of the same texts, as a journal needs them.
    """
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        _old_tree(root)
        os.sync()
        start = time.perf_counter()
        left = syncs
        for number, name in enumerate(_names()):
            path = root / name
            _write(path.with_suffix(".new"), _text(number, new=True))
            path.with_suffix(".new").replace(path)
            handle = os.open(path.parent, os.O_RDONLY)
            os.fsync(handle)
            os.close(handle)
            left -= 2
        for number in range(left):
            _write(Path(folder, f"{number}.copy"), _text(number % FILES, new=False))
        return time.perf_counter() - start


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


if __name__ == "__main__":
    main()
