"""The built-in operations, with lint replaced by an agent that takes many turns.

The built-in lint agent needs two turns and asks no model. Tests of the turn loop, of streams and of
what continues a run need jobs that are longer, and in which a model has a choice.
"""

from pathlib import Path

from msgspec.structs import replace

from remora.bootstrap.operations import BUILT_IN
from remora.operations.base import Operations
from remora.operations.lint.operation import LINT

STEP_LINT = replace(LINT, folder=Path(__file__).parent)
OPERATIONS = Operations(STEP_LINT if each is LINT else each for each in BUILT_IN.all)
