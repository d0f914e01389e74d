"""An accept of twelve files that is killed at random moments, or meets a full disk: every file is
wholly old or wholly new, and none is lost."""

import random
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from remora.runs.review.journals import complete_journals
from remora.runs.review.review import accept
from tests.crash.conftest import run
from tests.crash.test_disks_and_writers import mounted
from tests.runs.conftest import RULES, Desk, Kept

OLD = 'def load():\n    """Read."""\n    import re\n\n    return 1\n'
NEW = OLD.replace("    import re\n", "")
NAMES = [f"part{n:02}/m.py" for n in range(12)]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    desk = Desk(tmp_path_factory.mktemp("many"))
    desk.write(dict.fromkeys(NAMES, OLD) | {"ruff.toml": RULES})
    desk.analyze()
    return Kept(desk)


def texts(desk: Desk) -> list[str]:
    return [(desk.root / name).read_text() for name in NAMES]


def killed_at(kept: Kept, steps: Iterable[int]) -> None:
    for step in steps:
        desk = kept.again()
        status, _ = run(desk, "accept", step)
        assert status == -9, f"step {step}"
        complete_journals(desk.project)
        states = [job.review for job in desk.view(desk.newest).jobs]
        wanted = [NEW if state == "accepted" else OLD for state in states]
        assert texts(desk) == wanted, f"step {step}"
        left = [path.name for path in desk.root.rglob(".remora-*")]
        assert left == [], f"step {step}"
        accept(desk.project, desk.newest, [], every=True)
        assert texts(desk) == [NEW] * len(NAMES), f"step {step}"
        assert desk.problems() == [], f"step {step}"


def steps_of(kept: Kept) -> int:
    status, (steps,) = run(kept.again(), "accept", 10**9)
    assert status == 0
    return int(steps)


@pytest.mark.slow
def test_killed_at_a_few_moments(kept: Kept) -> None:
    killed_at(kept, random.Random(1).sample(range(2, steps_of(kept)), 3))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_killed_at_forty_random_moments(kept: Kept) -> None:
    steps = steps_of(kept)
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")  # noqa: T201 (shown where it fails)
    killed_at(kept, random.Random(seed).sample(range(2, steps), 40))


class TestFullDisk:
    """The disk of the user's files has 32 MB, or that of the journal; the other one has room."""

    def full(self, desk: Desk, place: Path) -> None:
        script = (
            f"cp -a {place} {place}.kept; mount -t tmpfs -o size=32m,mode=700 tmpfs {place}\n"
            f"cp -a {place}.kept/. {place}/; cd {desk.root}\n"
            f"cat /dev/zero >{place}/ballast 2>/dev/null || true\n"
            "remora accept last --all\n"
            f"for f in part*/m.py; do cmp -s $f {desk.folder}/old || cmp -s $f {desk.folder}/new; done\n"
            f"test $(ls part*/m.py | wc -l) = {len(NAMES)}\n"
            f"rm {place}/ballast; remora accept last --all\n"
            f"for f in part*/m.py; do cmp $f {desk.folder}/new; done\n"
            "test -z \"$(find . -name '.remora-*')\"; remora trace verify --all\n"
        )
        (desk.folder / "old").write_text(OLD)
        (desk.folder / "new").write_text(NEW)
        full, _, sound = mounted(desk, script)
        assert full.code == 3
        assert "space" in full.error["message"] + full.error["hint"]
        assert sound.document["ok"]

    @pytest.mark.slow
    def test_of_the_files(self, kept: Kept) -> None:
        desk = kept.again()
        self.full(desk, desk.root)
        shutil.rmtree(f"{desk.root}.kept")

    @pytest.mark.slow
    def test_of_the_journal(self, kept: Kept) -> None:
        desk = kept.again()
        self.full(desk, desk.project.state)
