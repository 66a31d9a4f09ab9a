from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from paredown.contracts import ScoreRequest
from paredown.hosts import prefix_tree
from paredown.hosts.prefix_tree import Branch, Pass

SEQUENCES = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=12).map(tuple), min_size=1, max_size=12)


def branches(root: Branch) -> list[Branch]:
    found = [root]
    for branch in found:
        found.extend(branch.children)
    return found


def requests_of(sequences: list[tuple[int, ...]]) -> list[ScoreRequest]:
    return [ScoreRequest(tokens, 1 + index % max(1, len(tokens) - 1)) for index, tokens in enumerate(sequences)]


@given(SEQUENCES)
def test_each_prefix_is_in_the_tree_exactly_once(sequences: list[tuple[int, ...]]) -> None:
    root = prefix_tree.build(requests_of(sequences))
    inputs = {tokens[:-1][:end] for tokens in sequences for end in range(1, len(tokens))}
    in_tree = [
        branch.path()[: branch.depth + end] for branch in branches(root) for end in range(1, len(branch.tokens) + 1)
    ]
    assert sorted(in_tree) == sorted(inputs)
    assert root.size == len(inputs)


@given(SEQUENCES)
def test_every_wanted_row_is_found_once_after_the_right_tokens(sequences: list[tuple[int, ...]]) -> None:
    requests = requests_of(sequences)
    found = {}
    for branch in branches(prefix_tree.build(requests)):
        for want in branch.wants:
            key = (want.request, want.row)
            assert key not in found
            found[key] = branch.path()[: branch.depth + want.offset + 1]
    expected = {
        (index, row): request.token_ids[: request.start + row]
        for index, request in enumerate(requests)
        for row in range(len(request.token_ids) - request.start)
    }
    assert found == expected


@given(SEQUENCES, st.integers(1, 8))
def test_passes_read_every_branch_once_after_a_prefix_that_is_held(
    sequences: list[tuple[int, ...]], row_tokens: int
) -> None:
    root = prefix_tree.build(requests_of(sequences))
    held: tuple[int, ...] = ()
    read: list[tuple[int, ...]] = []
    for one in prefix_tree.passes(root, row_tokens=row_tokens):
        assert held[: len(one.prefix)] == one.prefix
        held = one.prefix
        for segment in one.segments:
            read.append(segment.branch.path())
            above = one.segments[segment.parent].branch if segment.parent >= 0 else None
            assert (above.path() if above else one.prefix) == segment.branch.path()[: segment.branch.depth]
        if one.stays:
            held = one.segments[0].branch.path()
        else:
            assert one.size <= row_tokens
    assert sorted(read) == sorted(branch.path() for branch in branches(root) if branch.tokens)


def test_short_branches_share_a_row_and_a_long_one_is_held() -> None:
    document = tuple(range(100, 700))
    requests = [ScoreRequest((*document, question, 5), 601) for question in range(8)]
    passes: list[Pass] = list(prefix_tree.passes(prefix_tree.build(requests)))
    assert [one.stays for one in passes] == [True, False]
    assert passes[1].size == 8


def test_a_branch_that_continues_what_is_held_comes_first() -> None:
    one, other = tuple(range(1, 600)), tuple(range(1000, 1600))
    root = prefix_tree.build([ScoreRequest((*one, 0), 500), ScoreRequest((*other, 0), 500)])
    first = next(prefix_tree.passes(root, held=other))
    assert first.segments[0].branch.tokens[0] == 1000
