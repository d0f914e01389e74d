"""Which Python files belong to a project, found again in milliseconds."""

from remora.hub.members.listing import MARKS
from remora.hub.members.members import Members
from remora.hub.members.survey import Survey

__all__ = ["MARKS", "Members", "Survey"]
