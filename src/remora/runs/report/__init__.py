"""What a run came to, in one record, and the four forms in which it can be handed on."""

from remora.runs.report.facts import report_on
from remora.runs.report.formats import FORMATS
from remora.runs.report.markdown import markdown
from remora.runs.report.model import Report
from remora.runs.report.page import page
from remora.runs.report.sarif import sarif

__all__ = ["FORMATS", "Report", "markdown", "page", "report_on", "sarif"]
