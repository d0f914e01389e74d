"""`analyze -o docstring` and what becomes of it, with the real embedded model."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Remora, git, tree, write

BOOKS = '''"""Books."""


class Shelf:
    """Books beside each other."""

    # Take a book from the shelf.
    def take(self, title, count=1):
        if count < 1:
            raise ValueError("nothing to take")
        self.books.remove(title)

    def place(self, book):
        """Put a book on the shelf.

        Args:
            book: The book.
            where: Between which others.
        """
        self.books.append(book)

    def frob(self):
        return 1
'''


@pytest.fixture
def shelf(project: Path) -> Path:
    write(project, {"src/books.py": BOOKS})
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "books")
    return project


def test_the_way_through(remora: Remora, shelf: Path) -> None:
    before = tree(shelf)
    done = remora("analyze", "src/books.py", "-o", "docstring", "--json", cwd=shelf)
    assert done.code == 0, done.err
    statuses = {job["node_id"]: job["status"] for job in done.document["jobs"]}
    assert statuses == {
        "node:src/books.py:Shelf.take": "submitted",
        "node:src/books.py:Shelf.place": "submitted",
        "node:src/books.py:Shelf.frob": "no_change",
    }
    assert tree(shelf) == before
    shown = remora("show", "last", cwd=shelf).out
    assert "docstring added" in shown
    assert "2 of 3 docstrings written: 1 added, 1 updated" in shown
    assert "+        Raises:" in remora("diff", "last", "Shelf.take", cwd=shelf).out

    again = remora("retry", "last", "Shelf.take", "--feedback", "shorter", cwd=shelf)
    assert "the same change as before" in " ".join(again.out.split())
    feedback = 'I would say "Take a book away" here'
    words = ("retry", "last", "Shelf.take", "--feedback", feedback)
    other = remora(*words, cwd=shelf)
    assert other.code == 0
    assert "the same" not in other.out
    assert remora("reject", "last", "Shelf.place", cwd=shelf).code == 0
    assert remora("accept", "last", "--all", cwd=shelf).code == 0
    assert remora("trace", "verify", "--all", cwd=shelf).code == 0
    after = (shelf / "src/books.py").read_text()
    assert '        """Take a book away.\n\n        Raises:\n            ValueError: ' in after
    assert "where: Between which others." in after
    subprocess.run([sys.executable, "-c", "import books"], cwd=shelf / "src", check=True)


def test_docstring_is_built_in(remora: Remora, project: Path) -> None:
    assert "docstring" in remora("agents", "list", cwd=project).out
    assert "write_docstring" in remora("agents", "show", "docstring", cwd=project).out
