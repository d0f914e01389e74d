"""The figures of models that are kept for a project."""

import pytest
from msgspec.structs import replace

from remora.config.schema import Config
from remora.evals.arm_results import ArmResult
from remora.evals.arms import parse_arm
from remora.runs.measured_models import MeasuredModel, ModelUse
from remora.usecases.evaluate import measured_models
from tests.evals.results import arm, operation, report, result

SERVER = "http://127.0.0.1:1/v1,decoding=grammar"


def in_files(name: str, model: str | None, *outcomes: str) -> ArmResult:
    results = (result(f"{n}.py", outcome) for n, outcome in enumerate(outcomes))
    return arm(name, *results, model=model)


def measured(*arms: ArmResult) -> list[MeasuredModel]:
    names = tuple(parse_arm(each.name) for each in arms)
    found = report(operation("docstring", *arms))
    return list(measured_models(found, names, Config(), "2026-01-31"))


def test_a_model_is_compared_with_rules() -> None:
    rules = in_files("rules", None, "left", "left")
    (found,) = measured(rules, in_files(SERVER, "m", "exact", "equivalent"))
    assert found.use == ModelUse(
        operation="docstring", model="m", decoding="grammar", renderer="auto"
    )
    assert (found.slots, found.files, found.written, found.right) == (2, 2, 2, 2)
    assert (found.gain, found.gain_ci95, found.helps) == (1.0, (1.0, 1.0), False)
    assert (found.seed, found.commit, found.date) == (3, "abc", "2026-01-31")


def test_without_rules_nothing_is_known_about_the_gain() -> None:
    (found,) = measured(in_files("configured", "m", "exact", "different"))
    assert (found.right, found.gain, found.helps) == (1, None, False)
    assert found.use.decoding == "auto"


@pytest.mark.parametrize(
    ("name", "model"),
    [("configured", None), ("configured", "none"), ("configured,memory=raw", "m")],
)
def test_an_arm_without_a_model_or_with_other_settings_is_not_kept(
    name: str, model: str | None
) -> None:
    assert measured(in_files("rules", None, "left"), in_files(name, model, "left")) == []


def test_an_arm_whose_model_failed_is_not_kept() -> None:
    failed = replace(in_files(SERVER, "m", "exact"), exit_code=3)
    assert measured(in_files("rules", None, "left"), failed) == []
