"""A watching process that was stopped lost events, says so, and one sweep finds all there is."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

WATCHES = """
    import sys
    from pathlib import Path
    from remora.hub.members.members import Members
    from remora.hub.watch.watcher import open_watcher

    root = Path(sys.argv[1])
    members = Members(root)
    watcher = open_watcher(root, members)
    known = set(members.sweep())
    watcher.drain()
    print("ready", flush=True)
    for question in sys.stdin:
        seen = watcher.drain()
        if seen.complete and watcher.healthy:
            known = known - seen.paths | members.belonging(seen.paths)
        else:
            known = set(members.sweep())
        print(seen.complete, watcher.kind, len(known), flush=True)
"""


@pytest.mark.slow
def test_twenty_thousand_touches_and_five_hundred_new_files(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    for number in range(100):
        (root / f"src/m{number}.py").write_text("")
    command = [sys.executable, "-c", textwrap.dedent(WATCHES), str(root)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGSTOP)
        for number in range(20_000):
            os.utime(root / f"src/m{number % 100}.py")
        for number in range(500):
            folder = root / f"new/p{number % 50}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"n{number}.py").write_text("")
        process.send_signal(signal.SIGCONT)
        print(file=process.stdin, flush=True)
        assert process.stdout.readline().split() == ["False", "inotify", "600"]
        # and the folders that it was not told of are watched from then on
        (root / "new/p49/late.py").write_text("")
        print(file=process.stdin, flush=True)
        assert process.stdout.readline().split() == ["True", "inotify", "601"]
    finally:
        process.kill()
        process.communicate()
