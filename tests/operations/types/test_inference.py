"""Which missing annotations are worth planning, as far as a type checker's answers tell."""

from remora.operations.types.checker.type_checker import TypeChecker
from remora.operations.types.inference import Inference, Settings
from remora.operations.types.ranking.linear_model import weights

FILES = {
    "labels.py": "def brand():\n    return 'tea'\n",
    "shop.py": "SHELF = []\n\n\ndef keep(lot):\n    SHELF.append(lot)\n",
    "use.py": "from labels import brand\nfrom shop import keep\n\nkeep(brand())\nkeep(brand())\n",
}


def test_a_file_is_planned_if_annotations_of_another_file_say_its_types() -> None:
    """Only once `brand` has a result, its callers say what `keep` gets."""
    with TypeChecker(FILES, {}, minor=11) as ty:
        inference = Inference(FILES, ty, weights(), Settings(minor=11))
        planned = inference.promising(inference.slots(FILES))
    found = {(path, slot.name): term for (path, slot), term in planned.items()}
    assert found == {
        ("labels.py", "return"): "str",
        ("shop.py", "lot"): "str",
        ("shop.py", "return"): "None",
    }
    assert inference.annotations == {}, "nothing was judged"
