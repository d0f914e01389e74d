"""Following: each old node is at most one new one, and the most alike of many."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from remora.hub.store.node_identity import Identity, NewNode, follow


def nobody_else(bodies: frozenset[str]) -> Mapping[str, int]:
    return {}


def everywhere(bodies: frozenset[str]) -> Mapping[str, int]:
    return dict.fromkeys(bodies, 1)


KEYS = st.builds(
    "node:{}{}.py:{}".format,
    st.sampled_from(["", "a/", "a/b/", "c/"]),
    st.sampled_from(["m", "n", "__init__"]),
    st.sampled_from(["__module__", "f", "g", "f#2", "A", "A.f", "B.f"]),
)
NODES = st.dictionaries(
    KEYS, st.tuples(st.sampled_from(["function", "class"]), st.sampled_from("xyz")), max_size=12
)
Nodes = dict[str, tuple[str, str]]


def olds(nodes: Nodes) -> list[Identity]:
    return [Identity(f"uid {key}", key, kind, body) for key, (kind, body) in nodes.items()]


def news(nodes: Nodes) -> list[NewNode]:
    return [NewNode(key, kind, body) for key, (kind, body) in nodes.items()]


@given(NODES, NODES)
def test_each_old_node_is_at_most_one_new_one_of_its_kind(old: Nodes, new: Nodes) -> None:
    found = follow(olds(old), news(new), nobody_else)

    assert found.keys() <= new.keys()
    assert len({identity.uid for identity in found.values()}) == len(found)
    assert all(identity.node_type == new[key][0] for key, identity in found.items())
    assert found == follow(reversed(olds(old)), reversed(news(new)), nobody_else)


@given(NODES)
def test_without_changes_all_nodes_keep_their_identity(nodes: Nodes) -> None:
    found = follow(olds(nodes), news(nodes), everywhere)

    assert {key: identity.uid for key, identity in found.items()} == {
        key: f"uid {key}" for key in nodes
    }


@given(NODES, NODES)
def test_a_key_that_stays_keeps_its_identity_unless_its_body_is_elsewhere(
    old: Nodes, new: Nodes
) -> None:
    found = follow(olds(old), news(new), nobody_else)

    for key in old.keys() & new.keys():
        if old[key] == new[key]:
            assert found[key].key == key


def test_of_many_nodes_that_are_alike_each_keeps_its_own_when_their_folder_moves() -> None:
    for count in (3, 200):  # few are compared with each other, many are put in order
        old = {f"node:old/m{n}.py:A{n}.__init__": ("function", "x") for n in range(count)}
        new = {key.replace("old/", "new/"): value for key, value in old.items()}

        found = follow(olds(old), news(new), everywhere)

        assert {key: each.key for key, each in found.items()} == {
            key: key.replace("new/", "old/") for key in new
        }
