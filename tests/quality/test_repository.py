"""What no file of the repository may say: where packages come from, whose machine this was."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# A registry is the reader's choice: pip and uv take it from their own configuration.
INDEX = re.compile(r"pypi\.org|pythonhosted\.org|--(?:extra-)?index-url|https?://\S*/simple\b")
MACHINE = re.compile(r"(?<![\w.}~-])/(?:work|farm|root)/")
LINK = re.compile(r"\[[^\]]*\]\((?!https?:|#|mailto:)([^)#\s]+)")


def repository_files() -> list[Path]:
    """Tracked files and those that are about to be; not what git ignores."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    paths = {ROOT / name.decode() for name in listing.split(b"\0") if name}
    return sorted(path for path in paths if path.is_file())


def lines_with(pattern: re.Pattern[str], text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if pattern.search(line)]


@pytest.mark.parametrize("pattern", [INDEX, MACHINE], ids=["index", "machine"])
def test_no_file_names_an_index_or_a_path_of_one_machine(pattern: re.Pattern[str]) -> None:
    files = repository_files()
    assert ROOT / "Makefile" in files
    found = {
        path.relative_to(ROOT).as_posix(): lines
        for path in files
        if (lines := lines_with(pattern, path.read_text(encoding="utf-8", errors="replace")))
    }
    assert found == {}


def test_links_between_the_pages_lead_somewhere() -> None:
    pages = [path for path in repository_files() if path.suffix == ".md"]
    assert ROOT / "README.md" in pages
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in LINK.findall(page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert broken == []


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (INDEX, "files.python" + "hosted.org"),
        (INDEX, "pip install --extra-index" + "-url file:x"),
        (INDEX, "http://mirror.local/py" + "pi/simple/"),
        (MACHINE, "see /wo" + "rk/main"),
        (MACHINE, 'open("/ro' + 'ot/.cache")'),
    ],
)
def test_the_patterns_see_planted_faults(pattern: re.Pattern[str], text: str) -> None:
    assert lines_with(pattern, text)


@pytest.mark.parametrize("text", ["src/work/x.py", "~/work/x", "a simple/one", "/tmp/work.txt"])
def test_the_patterns_leave_innocent_text_alone(text: str) -> None:
    assert not lines_with(INDEX, text)
    assert not lines_with(MACHINE, text)
