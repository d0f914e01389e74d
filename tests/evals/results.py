"""Results of arms, for tests of what is computed from them."""

from remora.evals.arm_results import ArmResult, OperationResult, Report, Target, TargetResult


def result(path: str, outcome: str) -> TargetResult:
    target = Target(path=path, name="f return", text="List[<T>]")
    return TargetResult(target=target, outcome=outcome, text="list")  # type: ignore[arg-type]


def arm(name: str, *results: TargetResult, model: str | None = None) -> ArmResult:
    return ArmResult(name=name, results=results, model=model)


def operation(name: str, *arms: ArmResult) -> OperationResult:
    targets = [each.target for each in arms[0].results] if arms else []
    return OperationResult(operation=name, basis="people", found=9, targets=targets, arms=arms)


def report(*operations: OperationResult) -> Report:
    return Report(
        seed=3, versions={"remora": "1"}, commit="abc", operations=operations, notes=["<left out>"]
    )
