"""A finding that an operation reports without making a proposal."""

import msgspec


class ReportedFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A finding of an operation, without a run. `node_id` is the node that it is about."""

    path: str
    line: int
    node_id: str
    code: str
    message: str
