"""All projects of a process that use the same database share its connections."""

from pathlib import Path

import psycopg

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.bootstrap.open_trace import shared_database


def test_projects_that_are_opened_one_after_the_other_share_connections(
    dsn: str, tmp_path: Path
) -> None:
    environ = {
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "REMORA_RUNNER__MEMORY__TRACE_STORE": "postgres",
        "REMORA_POSTGRES__DSN": dsn,
    }
    opened = []
    for number in range(4):
        root = tmp_path / f"project-{number}"
        root.mkdir()
        (root / "remora.yaml").touch()
        project = open_project(Invocation(environ=environ, folder=root, root=root))
        assert list(project.trace.run_streams()) == []
        opened.append(project)
    with psycopg.connect(dsn) as connection:
        found = connection.execute(
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND application_name = 'remora'"
        ).fetchone()
    shared_database(dsn, is_durable=True).close()
    assert found == (1,)
