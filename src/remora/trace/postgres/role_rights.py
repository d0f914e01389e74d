"""The rights of a database role on the tables of the store."""

from typing import Any, NamedTuple

from psycopg import Connection

_ROLE = "SELECT current_user, has_table_privilege('events', 'INSERT')"
# a partition has rights of its own
_RIGHTS = """
SELECT DISTINCT verb FROM pg_class
JOIN pg_namespace ON pg_namespace.oid = relnamespace,
    unnest(ARRAY['UPDATE', 'DELETE', 'TRUNCATE']) AS verb
WHERE nspname = current_schema() AND relkind IN ('r', 'p') AND relname ~ '^(events|contents)'
    AND (has_table_privilege(pg_class.oid, verb)
        OR verb = 'UPDATE' AND has_any_column_privilege(pg_class.oid, 'UPDATE'))
ORDER BY verb
"""


class RoleRights(NamedTuple):
    """A role, whether it may append events, and what it could do to events that are stored."""

    role: str
    may_append: bool
    changes: tuple[str, ...]


def role_rights(connection: Connection[Any]) -> RoleRights:
    """Return the rights of the connection's role. Call it in the schema of the tables.

    Raises psycopg.Error if there are no tables or the role may not see them.
    """
    role, may_append = connection.execute(_ROLE).fetchone() or ("", False)
    changes = tuple(row[0] for row in connection.execute(_RIGHTS).fetchall())
    return RoleRights(str(role), bool(may_append), changes)
