"""Redaction: no secret enters a stream; what stands in its place can be told apart."""

from remora.trace.redact.builtin import BUILTIN as BUILTIN
from remora.trace.redact.placeholder import PLACEHOLDER as PLACEHOLDER
from remora.trace.redact.placeholder import new_placeholders as new_placeholders
from remora.trace.redact.placeholder import placeholders as placeholders
from remora.trace.redact.redactor import Redactor as Redactor
from remora.trace.redact.rule import OwnRule as OwnRule
from remora.trace.redact.rule import Rule as Rule
