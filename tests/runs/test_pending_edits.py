"""User edits of files with pending changes are never lost or overwritten."""

from collections.abc import Callable
from pathlib import Path

import pytest

from remora.runs.review.accept_and_reject import accept
from remora.workspaces.apply.file_swap import FileSwapper
from tests.runs.conftest import RULES, UNUSED, Desk, Kept

DONE = UNUSED.replace("    import re\n", "")
OTHER = UNUSED.replace('"""Read."""', '"""Read it all."""').replace("return 1", "return 100")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    desk = Desk(tmp_path_factory.mktemp("shop"))
    desk.write({"a.py": UNUSED, "ruff.toml": RULES})
    desk.commit()
    desk.git("switch", "-q", "-c", "other")
    desk.write({"a.py": OTHER})
    desk.commit()
    desk.git("switch", "-q", "main")
    desk.analyze()
    return Kept(desk)


@pytest.fixture
def shop(kept: Kept) -> Desk:
    return kept.again()


ACTS: dict[str, Callable[[Desk], object]] = {
    "renames": lambda desk: (desk.root / "a.py").rename(desk.root / "b.py"),
    "reformats": lambda desk: desk.write({"a.py": UNUSED.replace("    ", "\t").replace('"', "'")}),
    "switches": lambda desk: desk.git("switch", "-q", "other"),
    "rewrites": lambda desk: desk.write({"a.py": "x = 1\n"}),
}


@pytest.mark.parametrize("act", ACTS)
def test_in_the_very_moment_between_merge_and_exchange(
    shop: Desk, act: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    forward, after = FileSwapper.put_in_place, dict[str, bytes]()

    def faster(placing: FileSwapper, entry: object) -> str:
        ACTS[act](shop)
        after.update(shop.tree())
        return forward(placing, entry)  # type: ignore[arg-type]

    monkeypatch.setattr(FileSwapper, "put_in_place", faster)
    done = accept(shop.project, shop.newest, ["a.py:load"])
    assert done.conflicts
    assert shop.tree() == after
    assert [path.name for path in Path(shop.root).rglob(".remora-*")] == []
    job = shop.job(shop.newest, "load")
    (change,) = job.change_set
    assert change.after is not None
    assert shop.project.trace.objects.get(change.after).decode() == DONE, "both sides are kept"
    assert job.review == "conflict"
