"""Tables of the PostgreSQL store, their creation, and the rights of roles."""

from datetime import date
from typing import Any

from psycopg import Connection, sql

from remora.trace.content.objects import MAX_COMPRESSED_CONTENT

SCHEMA = "remora"
VERSION = 1
_MONTHS_AHEAD = 12
_LOCK = 0x52454D4F5241
"""Advisory lock that is held while tables are created."""
STREAM_NAME = "^(traces|runs)/[a-z0-9][a-z0-9._-]{0,63}$"
"""Regular expression of PostgreSQL for the names of streams: a folder, and a valid ID.

Readers copy streams to files of these names."""
MAX_OBJECT = 256 << 20
"""Maximum bytes of an object in the database."""
_SIZE = f"CASE kind WHEN 'blobs' THEN {MAX_COMPRESSED_CONTENT} ELSE {MAX_OBJECT} END"
_FIRST_DAY = "(extract(day FROM month) = 1) IS TRUE"

# Each month has its own partitions, so expired months are dropped and no row is ever deleted.
# Workers write these rows, so their values are checked. `updated` is not indexed, because each
# append would change the index.
_TABLES = f"""
CREATE TABLE info (
    version int NOT NULL,
    store uuid NOT NULL DEFAULT gen_random_uuid()
);
CREATE TABLE streams (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project text NOT NULL,
    name text NOT NULL CONSTRAINT streams_name CHECK (name COLLATE "C" ~ '{STREAM_NAME}'),
    month date NOT NULL DEFAULT date_trunc('month', now() AT TIME ZONE 'UTC'),
    epoch bigint NOT NULL DEFAULT 0,          -- number of claims
    next_seq int NOT NULL DEFAULT 0,
    head text NOT NULL DEFAULT repeat('0', 64),
    owner text,                               -- null: released
    lease_until timestamptz,
    deaths int NOT NULL DEFAULT 0,            -- owners that did not release it
    closed boolean NOT NULL DEFAULT false,    -- agent_end was appended
    run_id text,                              -- from here on: facts from the lines, for lists
    operation text,
    node_id text,
    turn int NOT NULL DEFAULT 0,
    status text,                              -- of agent_end
    bytes bigint NOT NULL DEFAULT 0,
    updated timestamptz NOT NULL DEFAULT now(),
    ended timestamptz,                        -- time of agent_end
    UNIQUE (project, name),
    CONSTRAINT streams_values CHECK (
        next_seq >= 0 AND turn >= 0 AND bytes >= 0 AND octet_length(head) = 64
        AND epoch BETWEEN 0 AND 1e15 AND deaths BETWEEN 0 AND 1e9
        AND octet_length(owner) <= 10000 AND octet_length(run_id) <= 10000
        AND octet_length(operation) <= 10000 AND octet_length(node_id) <= 100000
        AND octet_length(status) <= 10000
        AND updated BETWEEN '2000-01-01' AND '9000-01-01'
        AND ended BETWEEN '2000-01-01' AND '9000-01-01'
        AND lease_until BETWEEN '2000-01-01' AND '9000-01-01'
    )
) WITH (fillfactor = 70);
CREATE INDEX streams_of_run ON streams (run_id);
CREATE INDEX streams_ended ON streams (run_id, ended) WHERE ended IS NOT NULL;
CREATE FUNCTION keep_facts() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    NEW.run_id := coalesce(OLD.run_id, NEW.run_id);
    IF NEW.next_seq <> OLD.next_seq THEN NEW.updated := clock_timestamp(); END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER keep_facts BEFORE UPDATE OF next_seq, run_id ON streams
    FOR EACH ROW EXECUTE FUNCTION keep_facts();
CREATE TABLE expired (                        -- streams that were removed
    project text NOT NULL,
    name text NOT NULL,
    count int NOT NULL,
    head text NOT NULL,
    removed timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE events (
    stream bigint NOT NULL,
    seq int NOT NULL CONSTRAINT events_seq CHECK (seq >= 0), -- number of the first line
    month date NOT NULL CONSTRAINT events_month CHECK ({_FIRST_DAY}),
    lines bytea NOT NULL,                     -- of one append, compressed together
    PRIMARY KEY (month, stream, seq)
) PARTITION BY RANGE (month);
CREATE TABLE contents (
    digest bytea NOT NULL,
    month date NOT NULL DEFAULT date_trunc('month', now() AT TIME ZONE 'UTC')
        CONSTRAINT contents_month CHECK ({_FIRST_DAY}),
    kind text NOT NULL,                       -- blobs or objects
    content bytea NOT NULL,
    PRIMARY KEY (month, kind, digest),
    CONSTRAINT contents_digest CHECK (digest = sha256(content)),
    CONSTRAINT contents_size CHECK (octet_length(content) <= {_SIZE})
) PARTITION BY RANGE (month);
CREATE TABLE events_later PARTITION OF events DEFAULT;
CREATE TABLE contents_later PARTITION OF contents DEFAULT;
"""
_PARTITIONED = ("events", "contents")
_CREATE_PARTITION = """
CREATE TABLE {new} PARTITION OF {table} FOR VALUES FROM ({month}) TO ({following})
"""
_MOVE_OUT = """
CREATE TEMPORARY TABLE moving ON COMMIT DROP AS SELECT * FROM {later}
    WHERE month >= {month} AND month < {following};
DELETE FROM {later} WHERE month >= {month} AND month < {following}
"""
_MOVE_IN = "INSERT INTO {table} SELECT * FROM moving; DROP TABLE moving"
_WORKER_RIGHTS = """
GRANT USAGE ON SCHEMA remora TO {role};
GRANT SELECT ON ALL TABLES IN SCHEMA remora TO {role};
GRANT INSERT ON events, contents TO {role};
GRANT INSERT (project, name) ON streams TO {role};
GRANT UPDATE (epoch, next_seq, head, owner, lease_until, deaths, closed, run_id, operation, node_id, turn,
    status, bytes, ended) ON streams TO {role};
"""


def is_installed(connection: Connection[Any]) -> bool:
    """Return True if the tables exist."""
    return _exists(connection, "info")


def install(connection: Connection[Any]) -> None:
    """Create the tables that are missing, and the partitions of the next year.

    Raises psycopg.Error if the role may not create them.
    """
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        if not is_installed(connection):
            connection.execute("CREATE SCHEMA IF NOT EXISTS remora")
            connection.execute("SET LOCAL search_path TO remora")
            connection.execute(_TABLES)
            connection.execute("INSERT INTO info (version) VALUES (%s)", [VERSION])
            if _has_lz4(connection):
                for table, column in (("events", "lines"), ("contents", "content")):
                    connection.execute(
                        sql.SQL("ALTER TABLE {} ALTER COLUMN {} SET COMPRESSION lz4").format(
                            sql.Identifier(table), sql.Identifier(column)
                        )
                    )
        connection.execute("SET LOCAL search_path TO remora")
        add_partitions(connection)


def add_partitions(connection: Connection[Any]) -> None:
    """Create the missing partitions, from this month on. Call it in the schema of the tables, in a
    transaction.
    """
    row = connection.execute("SELECT (now() AT TIME ZONE 'UTC')::date").fetchone()
    assert row is not None
    month = row[0].replace(day=1)
    for _ in range(_MONTHS_AHEAD):
        for table in _PARTITIONED:
            if not _exists(connection, partition_name(table, month)):
                _add_partition(connection, table, month)
        month = next_month(month)


def _add_partition(connection: Connection[Any], table: str, month: date) -> None:
    """Create a partition. Rows of its month that are in the default partition are moved there."""
    names = {
        "table": sql.Identifier(table),
        "later": sql.Identifier(f"{table}_later"),
        "new": sql.Identifier(partition_name(table, month)),
        "month": sql.Literal(month),
        "following": sql.Literal(next_month(month)),
    }
    connection.execute(sql.SQL("LOCK TABLE {later} IN ACCESS EXCLUSIVE MODE").format(**names))
    query = "SELECT FROM {later} WHERE month >= {month} AND month < {following} LIMIT 1"
    moves = connection.execute(sql.SQL(query).format(**names)).rowcount > 0
    for statement in (_MOVE_OUT, _CREATE_PARTITION, _MOVE_IN) if moves else (_CREATE_PARTITION,):
        connection.execute(sql.SQL(statement).format(**names))


def grant_worker(connection: Connection[Any], role: str) -> None:
    """Let a role read all tables and append to streams, but not change or delete an event."""
    with connection.transaction():
        connection.execute("SET LOCAL search_path TO remora")
        connection.execute(sql.SQL(_WORKER_RIGHTS).format(role=sql.Identifier(role)))


def partition_name(table: str, month: date) -> str:
    return f"{table}_{month:%Y_%m}"


def next_month(month: date) -> date:
    """Return the first day of the month after `month`, which is itself a first day."""
    return month.replace(year=month.year + month.month // 12, month=month.month % 12 + 1)


def _exists(connection: Connection[Any], table: str) -> bool:
    row = connection.execute("SELECT to_regclass(%s)", [f"{SCHEMA}.{table}"]).fetchone()
    return row is not None and row[0] is not None


def _has_lz4(connection: Connection[Any]) -> bool:
    row = connection.execute(
        "SELECT 'lz4' = ANY (enumvals) FROM pg_settings WHERE name = 'default_toast_compression'"
    ).fetchone()
    return row is not None and bool(row[0])
