"""Descriptions of settings and of the keys of `agent.yaml`: the docstrings below their fields.

Pydantic would read them each time that it makes a class, a twelfth of the time of `remora check`.
"""

import ast
from inspect import cleandoc, getsource
from itertools import pairwise

from pydantic import BaseModel

from remora.python_text import parse


def describe_fields(base: type[BaseModel]) -> None:
    """Set the descriptions of all fields of the models that are derived from `base`."""
    for model in base.__subclasses__():
        texts = {name: field.description for name, field in base.model_fields.items()}
        for pair in pairwise(parse(getsource(model)).body[0].body):  # type: ignore[attr-defined]
            match pair:
                case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                    texts[name] = cleandoc(text)
        for name, field in model.model_fields.items():
            field.description = texts.get(name)
        model.model_rebuild(force=True)
        describe_fields(model)
