"""Facts of small files for the tests of the Hub."""

from remora.code.file_analysis import read_facts
from remora.code.file_facts import FileFacts


def facts_of(path: str, source: str) -> FileFacts:
    """What a file says."""
    return read_facts(path, source.encode())
