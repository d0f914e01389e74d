"""The figures of an evaluation that decide whether a model's choices count."""

from collections.abc import Sequence

import pytest

from remora.bootstrap.operations import BUILT_IN
from remora.config.loading import load_config
from remora.config.schema import Config
from remora.evals.arms import parse_arm
from remora.evals.measured_arms import measured_models
from remora.evals.slot_results import (
    ArmResult,
    OperationResult,
    RestoreReport,
    SlotResult,
)
from remora.operations.restorer import Outcome, Slot
from remora.runs.records.measured_models import MeasuredModel, ModelUse

SERVER = "http://127.0.0.1:1/v1,decoding=grammar"


def arm(name: str, model: str | None, *outcomes: Outcome) -> ArmResult:
    results = [
        SlotResult(
            slot=Slot(path=f"{n}.py", number=0, qualname="f", part="summary", text="t"),
            kind="summary",
            outcome=outcome,
        )
        for n, outcome in enumerate(outcomes)
    ]
    return ArmResult(name=name, model=model, results=tuple(results))


def measured(arms: Sequence[ArmResult]) -> list[MeasuredModel]:
    slots = [result.slot for result in arms[0].results]
    found = OperationResult(operation="docstring", found=4, slots=slots, hidden={}, arms=arms)
    report = RestoreReport(seed=3, versions={}, commit="abc", operations=[found], notes=[])
    names = tuple(parse_arm(each.name) for each in arms)
    return list(measured_models(report, names, config(), "2026-01-31"))


def config() -> Config:
    return load_config(
        user_file=None, project_file=None, environ={}, flags={}, operations=BUILT_IN.settings
    )[0]


def test_a_model_is_compared_with_rules() -> None:
    rules = arm("rules", None, "left", "left")
    (found,) = measured([rules, arm(SERVER, "m", "exact", "equivalent")])
    assert found.use == ModelUse(
        operation="docstring", model="m", decoding="grammar", renderer="auto"
    )
    assert (found.slots, found.files, found.written, found.right) == (2, 2, 2, 2)
    assert (found.gain, found.gain_ci95, found.helps) == (1.0, (1.0, 1.0), False)
    assert (found.seed, found.commit, found.date) == (3, "abc", "2026-01-31")


def test_without_rules_nothing_is_known_about_the_gain() -> None:
    (found,) = measured([arm("configured", "m", "exact", "different")])
    assert (found.right, found.gain, found.helps) == (1, None, False)
    assert found.use.decoding == "auto"


@pytest.mark.parametrize("model", [None, "none"])
def test_an_arm_without_a_model_is_not_kept(model: str | None) -> None:
    assert measured([arm("rules", None, "left"), arm("configured", model, "left")]) == []
