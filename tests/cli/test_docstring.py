"""`analyze -o docstring` and what becomes of it, without a model that can write."""

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

    def place(self, book, where=1):
        """Put a book on the shelf.

        Args:
            book_title: The book.
            where: Between which others.
        """
        self.books.append(book)

    def __init__(self, books, where=1):
        """Take the books.

        Args:
            all_books: The books.
            where: Between which others.
        """

    def frob(self):
        return 1
'''


@pytest.fixture
def shelf(project: Path) -> Path:
    write(project, {"src/books.py": BOOKS})
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "books")
    return project


def test_the_way_through(poor: Remora, shelf: Path) -> None:
    before = tree(shelf)
    done = poor("analyze", "src/books.py", "-o", "docstring", "--json", cwd=shelf)
    assert done.code == 0, done.err
    statuses = {job["node_id"]: job["status"] for job in done.document["jobs"]}
    assert statuses == {
        "node:src/books.py:Shelf.__init__": "verified",
        "node:src/books.py:Shelf.place": "verified",
    }
    assert tree(shelf) == before
    shown = poor("show", "last", cwd=shelf).out
    told = "2 of 2 docstrings written (2 updated) in 1 file; 2 docstrings need a person or a model"
    assert told in shown
    assert "+            book: The book.\n" in poor("diff", "last", "Shelf.place", cwd=shelf).out

    again = poor("retry", "last", "Shelf.place", "--feedback", "shorter", cwd=shelf)
    assert "the same change as before" in " ".join(again.out.split())
    assert "no model" not in again.err, "rules read what feedback quotes"
    assert poor("reject", "last", "Shelf.__init__", cwd=shelf).code == 0
    rejected = poor("retry", "last", "Shelf.__init__", cwd=shelf)
    assert "rejected" in rejected.out
    assert "no model: rules will make the same change again unless" in rejected.err
    assert "the same change as before" in " ".join(rejected.out.split())
    assert poor("accept", "last", "--all", cwd=shelf).code == 0
    assert poor("trace", "verify", "--all", cwd=shelf).code == 0
    after = (shelf / "src/books.py").read_text()
    assert after.count("all_books") == 1, "the rejected change"
    subprocess.run([sys.executable, "-c", "import books"], cwd=shelf / "src", check=True)
