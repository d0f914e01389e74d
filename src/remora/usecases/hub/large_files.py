"""Analyzes large files in a child process with a memory limit, as the daemon does."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from remora.hub.daemon.analysis_pool import AnalysisPool
from remora.hub.file_reader import open_reader
from remora.hub.index.indexer import Indexer, Refreshed
from remora.hub.node import UpdateSource


class LargeFiles:
    """Analyzes large files one at a time.

    A file whose analysis needs too much memory is stored without nodes and reported.
    """

    def __init__(
        self, root: Path, indexer: Indexer, pool: AnalysisPool, runner: asyncio.Runner
    ) -> None:
        self._root = root
        self._indexer = indexer
        self._pool = pool
        self._runner = runner

    def refresh(self, path: str, source: UpdateSource) -> Refreshed:
        """Analyze the file at the raw path `path` and store the result.

        Raises DiskError if the result cannot be stored.
        """
        try:
            with open_reader(self._root, self._indexer.file_limit) as reader:
                content = reader.read(path)
        except OSError:
            content = None
        if content is None or content.skipped:  # the file changed: find the reason
            return self._indexer.refresh([path], source=source)
        facts = self._runner.run(self._pool.analyze(path, content.data))
        return self._indexer.supply(path, content.file_hash, facts, source=source)


@contextmanager
def large_files(
    root: Path, indexer: Indexer, environment: Mapping[str, str]
) -> Iterator[LargeFiles]:
    """Provide an analyzer for large files. Its child process is stopped when the block exits."""
    pool = AnalysisPool(environment)
    with asyncio.Runner() as runner:
        try:
            yield LargeFiles(root, indexer, pool, runner)
        finally:
            runner.run(pool.close())
