"""Connections to PostgreSQL, and errors that name the address and the remedy."""

import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict

from remora.errors import ConfigError, DatabaseError, undo_on_error
from remora.trace.postgres.schema import SCHEMA, VERSION, install, is_installed

_T = TypeVar("_T")
Connection = psycopg.Connection[Any]
_MAX_CONNECTIONS = 8
_PATIENCE_S = 60.0
_PAUSES_S = (0.05, 0.2, 0.5, 1.0, 2.0)
LOST = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.errors.ReadOnlySqlTransaction,  # a standby, until it is promoted
)
"""Errors after which a statement may succeed if it is repeated: a lost connection, a restart, too
many connections or a full disk."""
_LOCK_WAIT_S = 10
"""Seconds to wait for a lock (decision). A statement of a worker takes less than one."""
_SETTINGS: dict[str, Any] = {
    "application_name": "remora",
    "connect_timeout": 10,
    # a silently cut connection is noticed within half a minute
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}


class _KeptConnections:
    """Open connections that are not in use. Thread-safe."""

    def __init__(self) -> None:
        self.idle: list[Connection] = []

    def take(self) -> Connection | None:
        with suppress(IndexError):  # other threads take connections, too
            return self.idle.pop()
        return None

    def close(self) -> None:
        while (connection := self.take()) is not None:
            connection.close()


class Database:
    """Connections to the schema `remora` of one database. Thread-safe.

    Connections are opened when they are needed, kept for later, and given up if they fail. They are
    closed when the database is closed or no longer used.
    """

    def __init__(
        self, dsn: str, *, is_durable: bool = True, patience_s: float = _PATIENCE_S
    ) -> None:
        """Prepare for `dsn` without connecting.

        Without `is_durable`, a commit does not wait until it is on the server's disk. A statement
        that fails because of the connection is repeated for `patience_s` seconds. Raises
        ConfigError if `dsn` is not a connection string.
        """
        try:
            self._parts = conninfo_to_dict(dsn)
        except psycopg.ProgrammingError as error:
            raise ConfigError(
                "postgres.dsn is not a connection string",
                hint="use for example postgresql://remora@db.example.com/remora",
            ) from error
        self._dsn = dsn
        self._is_durable = is_durable
        self._patience_s = patience_s
        self._kept = _KeptConnections()
        # not at exit, because a forked process may not close the connections of its parent
        weakref.finalize(self, self._kept.close).atexit = False
        self._is_closed = False
        self._free = threading.BoundedSemaphore(_MAX_CONNECTIONS)

    def open(self) -> str:
        """Check the tables, and return the UUID of the store.

        The tables are created if they are missing and the role may do so. Raises DatabaseError if
        the server cannot be reached, or if the tables are missing or have another version.
        """
        try:
            with self.connected() as connection:
                if not is_installed(connection):
                    with self.limited(connection):
                        install(connection)
                return self.store_in(connection)
        except psycopg.errors.InsufficientPrivilege as error:
            raise DatabaseError(
                f"this role may not use or create the tables of Remora in {self.address}: {error}",
                hint="ask an owner of the database to run `remora database init --worker ROLE`",
            ) from error
        except LOST as error:
            raise self.error(error) from error

    def store_in(self, connection: Connection) -> str:
        """Return the UUID of the store. Raises DatabaseError if the tables have another version."""
        row = connection.execute("SELECT version, store FROM info").fetchone()
        version, store = row or (None, None)
        if version != VERSION:
            raise DatabaseError(
                f"the tables in {self.address} have version {version}, "
                f"but this version of Remora uses version {VERSION}",
                hint="use the same version of Remora on all machines, or another database",
            )
        return str(store)

    def has_tables(self) -> bool:
        """Return True if the database has tables of Remora. Nothing is created.

        Raises DatabaseError, also if the tables have another version.
        """
        try:
            with self.connected() as connection:
                return is_installed(connection) and bool(self.store_in(connection))
        except LOST as error:
            raise self.error(error) from error

    @property
    def address(self) -> str:
        """Host and name of the database, without the user's password."""
        host, port = self._parts.get("host") or "localhost", self._parts.get("port")
        name = self._parts.get("dbname") or self._parts.get("user") or ""
        return f"{host}{f':{port}' if port else ''}/{name}"

    @contextmanager
    def connected(self) -> Iterator[Connection]:
        """Use a connection in autocommit mode. It is kept if the block raises no exception.

        Raises psycopg.Error if there is no connection.
        """
        with self._free:
            connection = self._kept.take() or self._connect()
            try:
                yield connection
            except BaseException:
                connection.close()
                self._kept.close()  # after a restart of the server, no connection works
                raise
            self._kept.idle.append(connection)
            if self._is_closed:
                self._kept.close()

    def run(self, work: Callable[[Connection], _T]) -> _T:
        """Call `work` with a connection in autocommit mode, and repeat it if the connection fails.

        `work` must have the same effect if it is repeated. Raises DatabaseError.
        """
        return self.retry(lambda _: self.once(work))

    def rows(
        self, query: str, values: Sequence[Any] | Mapping[str, Any] = (), *, binary: bool = False
    ) -> list[tuple[Any, ...]]:
        """Return all rows of a query, which is repeated if the connection fails.

        Raises DatabaseError.
        """
        return self.run(
            lambda connection: connection.execute(query, values, binary=binary).fetchall()
        )

    def once(self, work: Callable[[Connection], _T]) -> _T:
        """Call `work` without repeating it. Raises psycopg.Error."""
        with self.connected() as connection:
            return work(connection)

    @contextmanager
    def limited(self, connection: Connection) -> Iterator[None]:
        """Run the block in a transaction that waits for a lock only for some seconds.

        Raises psycopg.Error, and DatabaseError if a lock is not granted in time.
        """
        try:
            with connection.transaction():
                connection.execute(f"SET LOCAL lock_timeout = '{_LOCK_WAIT_S}s'")
                yield
        except psycopg.errors.LockNotAvailable as error:
            raise DatabaseError(
                f"PostgreSQL at {self.address}: nothing was changed, because others held locks on "
                f"the tables for {_LOCK_WAIT_S} seconds",
                hint="look in pg_locks and pg_prepared_xacts for who holds them, and repeat the "
                "command",
            ) from error

    def retry(self, attempt: Callable[[int], _T]) -> _T:
        """Call `attempt` with its number until no connection is lost, or patience ends.

        Raises DatabaseError.
        """
        end, number = time.monotonic() + self._patience_s, 0
        while True:
            try:
                return attempt(number)
            except LOST as error:
                pause = _PAUSES_S[min(number, len(_PAUSES_S) - 1)]
                if time.monotonic() + pause > end:
                    raise self.error(error) from error
                time.sleep(pause)
                number += 1
            except psycopg.Error as error:
                raise self.error(error) from error

    def error(self, error: Exception) -> DatabaseError:
        """Return the error that tells the user what failed."""
        said = str(error).strip().splitlines()
        reason = said[0] if said else type(error).__name__
        hint = "check that the server runs and that postgres.dsn is right, with `remora doctor`"
        if isinstance(error, psycopg.errors.InsufficientPrivilege):
            hint = "ask the owner of the tables to run `remora database init --worker ROLE`"
        return DatabaseError(f"PostgreSQL at {self.address}: {reason}", hint=hint)

    def close(self) -> None:
        """Close the connections that are not in use, and all others after their last statement."""
        self._is_closed = True
        self._kept.close()

    def _connect(self) -> Connection:
        connection = psycopg.connect(self._dsn, autocommit=True, **_SETTINGS)
        with undo_on_error(connection.close):
            connection.execute(f"SET search_path TO {SCHEMA}")
            if not self._is_durable:
                connection.execute("SET synchronous_commit TO off")
        return connection
