"""The built-in operations. Only this module imports them individually."""

from remora.operations.base import Operations
from remora.operations.docstring.operation import DOCSTRING
from remora.operations.lint.operation import LINT
from remora.operations.test.operation import TEST
from remora.operations.types.operation import TYPES

BUILT_IN = Operations([LINT, DOCSTRING, TEST, TYPES])
