"""The figures of an evaluation that are kept for the project: each model compared with rules."""

from collections.abc import Iterator, Sequence

from remora.config.schema import Config
from remora.evals.arm_results import ArmResult, Report
from remora.evals.arms import Arm
from remora.evals.scores import Estimate, counts_of, differences
from remora.models.protocol import NAME
from remora.runs.measured_models import MeasuredModel, ModelUse


def measured_models(
    report: Report, arms: Sequence[Arm], config: Config, date: str
) -> Iterator[MeasuredModel]:
    """Yield what each model restored that never failed, and whose arm has no other options."""
    asked = {arm.name: arm for arm in arms}
    restored = [operation for operation in report.operations if operation.basis == "people"]
    for operation in restored:
        rules = next((a for a in operation.arms if _is_rules(asked[a.name]) and a.results), None)
        for arm in operation.arms:
            used, counts = asked[arm.name], counts_of(arm.results)
            has_failed = arm.exit_code != 0 or not arm.results
            if has_failed or arm.model in (None, NAME) or not used.is_a_use:
                continue
            gain = _gain(rules, arm, report.seed)
            yield MeasuredModel(
                use=ModelUse(
                    operation=operation.operation,
                    model=str(arm.model),
                    decoding=used.settings.get("model.decoding", config.model.decoding),
                    renderer=used.settings.get("model.renderer", config.model.renderer),
                ),
                slots=counts.targets,
                files=len({result.target.path for result in arm.results}),
                written=counts.written,
                right=counts.right,
                gain=gain.value,
                gain_ci95=gain.interval,
                seed=report.seed,
                commit=report.commit,
                date=date,
            )


def _is_rules(arm: Arm) -> bool:
    return arm.settings.get("model.provider") == NAME


def _gain(rules: ArmResult | None, arm: ArmResult, seed: int) -> Estimate:
    if rules is None:
        return Estimate(value=None)
    return differences("people", rules.results, arm.results, seed)["restored"]
