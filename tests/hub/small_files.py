"""Small files for the tests of the Hub, and their facts."""

import subprocess
from pathlib import Path

from remora.code.file_analysis import read_facts
from remora.code.file_facts import FileFacts


def facts_of(path: str, source: str) -> FileFacts:
    """What a file says."""
    return read_facts(path, source.encode())


def put(root: Path, *paths: str, text: str = "x = 1\n") -> None:
    """Write files that all have this text."""
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def git(root: Path, *words: str) -> None:
    """Run git, which must succeed."""
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
