"""The nodes of a tree: the table that growing writes, and the tree in pre-order that it becomes.

A node is a row of 64-bit integers. Branches that several threads, or executors of a cluster,
have grown are joined here, and numbered anew from the root.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..kernels import Bools, Bytes, Floats, Ints, Ints32, Words
from ..kernels.compiled import inner, kernel
from ..kernels.exact_sums import UNIT_BITS
from .node_rows import NodeRows

# columns of the table of nodes
_NAMES = (
    "start", "end", "parent", "left", "right", "column", "last_left", "first_right", "missing_left",
    "depth", "subset_at",
)  # fmt: skip
N_COLUMNS = len(_NAMES)
START, END, PARENT, LEFT, RIGHT, COLUMN, LAST_LEFT, FIRST_RIGHT, MISSING_LEFT, DEPTH, SUBSET_AT = range(N_COLUMNS)
# marks in `COLUMN`: a leaf, and a node that one call of the kernel leaves to others
LEAF = -1
OPEN = -2
# entries of `Branch.state`: nodes, nodes on the stack, subset codes, work since it was read, records in leaves
NODES, OPEN_NODES, CODES, SPENT, SETTLED = range(5)
# columns of `Branch.stack`: the node, and what its histograms are made from (`expand.py`)
NODE, SLOT, SOURCE = range(3)


@dataclass(frozen=True)
class Products:
    """Exact sums of the products of every pair of numeric responses, one row per group.

    Parameters
    ----------
    high, low : int64 arrays of shape (groups, pairs)
        Limbs of 30 bits. The pairs are (0, 0), (0, 1), ... (1, 1), ...
    """

    high: Ints
    low: Ints

    def between(self, first: Ints, last: Ints) -> Floats:
        """Return the sums over the groups first..last as floats, in which 2^60 becomes 1."""
        unit, sums = float(1 << UNIT_BITS), self.merged(first, last)
        return np.asarray(sums.high / unit + sums.low / unit**2, np.float64)

    def merged(self, first: Ints, last: Ints) -> Products:
        """Return the products after merging each range of groups first..last into one."""
        # The leaves below a node are neighbours, so one running sum serves all nodes; integers are exact.
        none = np.zeros((1, self.high.shape[1]), np.int64)
        high, low = (np.concatenate([none, np.cumsum(part, axis=0)]) for part in (self.high, self.low))
        return Products(high[last] - high[first], low[last] - low[first])


def products(rows: NodeRows, r: int, start: Ints, end: Ints) -> Products:
    """Return the products of the last r quantities, summed over the records start..end of every group."""
    high = np.zeros((len(start), r * (r + 1) // 2), np.int64)
    low = np.zeros_like(high)
    at = rows.format.quantities[len(rows.format.quantities) - r :]
    if r:
        _products(rows.views.longs, at, start, end, high, low)
    return Products(high, low)


@kernel
def _products(longs: Ints32, at: Ints, start: Ints, end: Ints, high: Ints, low: Ints) -> None:
    r = at.shape[0]
    for g in range(start.shape[0]):
        for i in range(start[g], end[g]):
            pair = 0
            for j in range(r):
                a = np.int64(longs[i, at[j]])
                for k in range(j, r):
                    # 60 bits: two limbs, so that sums over 2^33 rows stay within 63
                    product = a * np.int64(longs[i, at[k]])
                    high[g, pair] += product >> UNIT_BITS
                    low[g, pair] += product & ((1 << UNIT_BITS) - 1)
                    pair += 1


class Branch(NamedTuple):
    """A branch that is being grown: its nodes in order of creation, and those still open."""

    nodes: Ints
    stats: Ints
    # codes that go left at categorical nodes, one node after the other
    codes: Ints
    # Open nodes. The smaller child lies on top, so that there are never more than some two for every halving of the
    # rows.
    stack: Ints
    # by code, whether it goes left at the node that is split; as long as the widest column
    goes_left: Bytes
    state: Ints

    @classmethod
    def from_range(cls, start: int, end: int, depth: int, stats: Ints, goes_left: Bytes) -> Branch:
        """Return a branch with one open node over the rows start..end."""
        nodes, all_stats = np.zeros((64, N_COLUMNS), np.int64), np.zeros((64, len(stats)), np.int64)
        nodes[0, [START, END, PARENT, DEPTH]] = start, end, -1, depth
        all_stats[0] = stats
        stack = np.zeros((2 * (end - start).bit_length() + 2, 3), np.int64)
        state = np.array([1, 1, 0, 0, 0])
        return cls(nodes, all_stats, np.zeros(1024, np.int64), stack, goes_left, state)

    def wider(self) -> Branch:
        """Return the same branch with space for two more nodes and the codes of one more split."""
        n, codes = int(self.state[NODES]), int(self.state[CODES])
        more = {}
        if n + 2 > len(self.nodes):
            for name in ("nodes", "stats"):
                old = getattr(self, name)
                # doubled, so that every node is copied about once
                more[name] = np.concatenate([old, np.zeros_like(old)])
        if codes + len(self.goes_left) > len(self.codes):
            more["codes"] = np.concatenate([self.codes, np.zeros(codes + len(self.goes_left), np.int64)])
        return self._replace(**more)

    @property
    def finished(self) -> Nodes:
        """Return the nodes created so far."""
        n, codes = int(self.state[NODES]), int(self.state[CODES])
        return Nodes(self.nodes[:n], self.stats[:n], self.codes[:codes])


class Nodes(NamedTuple):
    """Nodes in order of creation, their statistics, and the codes that go left at categorical nodes."""

    nodes: Ints
    stats: Ints
    codes: Ints


@inner
def bring_left(words: Words, field: Any, a: int, b: int, goes_left: Bytes) -> np.int64:
    """Move the records whose code goes left to the front; return where the others begin."""
    word, shift, mask, n_words = field.word, field.shift, field.mask, np.uint64(words.shape[1])
    # The records move and not their numbers, so every later pass reads neighbours in memory. The
    # order within a side does not matter, because all sums are exact.
    middle = np.uint64(a)
    for i in range(np.uint64(a), np.uint64(b)):
        # every record changes places: cheaper than a branch that no processor can predict
        left = np.uint64(goes_left[(words[i, word] >> shift) & mask])
        for w in range(n_words):
            words[i, w], words[middle, w] = words[middle, w], words[i, w]
        middle += left
    return np.int64(middle)


@inner
def is_open(branch: Branch, budget: int) -> bool:
    """Return whether the branch has an open node, space for its children, and budget left."""
    # Room for the widest column's codes: how many go left is known only after the search.
    state, most_codes = branch.state, branch.codes.shape[0] - branch.goes_left.shape[0]
    has_room = state[NODES] + 2 <= branch.nodes.shape[0] and state[CODES] <= most_codes
    return state[OPEN_NODES] > 0 and has_room and state[SPENT] <= budget


@inner
def close_node(node: int, column: int, middle: int, branch: Branch) -> int:
    """Write the split of the node on top of the stack, if any; its right rows begin at `middle`.

    On the stack a split node is replaced by its larger child, with the smaller one on top.
    Return the left child, or -1 for a leaf or a node that stays open.
    """
    nodes, state, stack = branch.nodes, branch.state, branch.stack
    top = state[OPEN_NODES] - 1
    a, b = nodes[node, START], nodes[node, END]
    nodes[node, COLUMN] = column
    state[OPEN_NODES] = top
    if column < 0:
        if column == LEAF:
            state[SETTLED] += b - a
        return -1
    left = state[NODES]
    nodes[node, LEFT], nodes[node, RIGHT] = left, left + 1
    nodes[left, START], nodes[left, END] = a, middle
    nodes[left + 1, START], nodes[left + 1, END] = middle, b
    for child in range(left, left + 2):
        nodes[child, PARENT] = node
        nodes[child, DEPTH] = nodes[node, DEPTH] + 1
    # the smaller child first: its histograms are counted, the larger one's are the difference
    is_left_larger = middle - a > b - middle
    stack[top, NODE], stack[top + 1, NODE] = left + 1 - is_left_larger, left + is_left_larger
    state[NODES], state[OPEN_NODES] = left + 2, top + 2
    return left


@dataclass(frozen=True)
class Grown:
    """A grown tree in pre-order, with the rows of every node.

    Node i holds `rows[start[i]:end[i]]`; its left child is i + 1, its right
    child `right[i]`; `column[i]` is LEAF for leaves. Ordered columns split
    between the codes `last_left[i]` and `first_right[i]`; for categorical ones
    `last_left[i]` is the number of codes from `subset_at[i]` on, which go left. `products`
    are the exact sums of products of the numeric responses in every leaf.
    """

    start: Ints
    end: Ints
    parent: Ints
    right: Ints
    column: Ints
    last_left: Ints
    first_right: Ints
    missing_left: Bools
    depth: Ints
    stats: Ints
    subset_at: Ints
    subset_codes: Ints
    # the rows, leaf by leaf; or a placeholder for rows on a cluster
    rows: Any
    products: Products
    # the listed classes of `rows`, one column each; no rows where they are on a cluster
    listed: npt.NDArray[np.uint16]

    @property
    def n_nodes(self) -> int:
        """Return the number of nodes."""
        return len(self.column)


def joined_nodes(top: Nodes, branches: Mapping[int, Nodes]) -> Nodes:
    """Return `top` with its open nodes replaced by the branches grown from them."""
    nodes, stats, codes = [top.nodes], [top.stats], [top.codes]
    placed, n_codes = len(top.nodes), len(top.codes)
    for node, branch in branches.items():
        new = np.concatenate([[node], placed + np.arange(len(branch.nodes) - 1)])
        moved = branch.nodes.copy()
        # A leaf's children and the root's parent are not read; they only must not point outside.
        for name in (PARENT, LEFT, RIGHT):
            moved[:, name] = new[np.maximum(moved[:, name], 0)]
        moved[:, SUBSET_AT] += n_codes
        moved[0, PARENT] = top.nodes[node, PARENT]
        # The branch's root is the open node itself, so only the nodes below it are added.
        top.nodes[node] = moved[0]
        nodes.append(moved[1:])
        stats.append(branch.stats[1:])
        codes.append(branch.codes)
        placed += len(branch.nodes) - 1
        n_codes += len(branch.codes)
    return Nodes(np.concatenate(nodes), np.concatenate(stats), np.concatenate(codes))


def in_preorder(grown: Nodes, rows: NodeRows, r: int, n_listed: int = 0) -> Grown:
    """Return the grown tree from its nodes in any order, renumbered in pre-order.

    Parameters
    ----------
    grown : Nodes
    rows : NodeRows
        Each in its leaf.
    r : int
        Numeric responses.
    n_listed : int
        Class columns that are listed.
    """
    fields, _ = renumbered(grown)
    leaf = fields["column"] == LEAF
    return Grown(
        **fields,
        rows=rows.numbers(),
        products=products(rows, r, fields["start"][leaf], fields["end"][leaf]),
        listed=rows.views.shorts[:, rows.format.classes[:n_listed]],
    )


def renumbered(grown: Nodes) -> tuple[dict[str, npt.NDArray[Any]], Ints]:
    """Return the nodes of a tree in pre-order, as fields of `Grown`, and each node's old number."""
    nodes = np.asfortranarray(grown.nodes)
    order = visit_order(nodes[:, COLUMN], nodes[:, LEFT], nodes[:, RIGHT])
    new = np.empty(len(order), np.int64)
    new[order] = np.arange(len(order))
    nodes = np.ascontiguousarray(nodes[order].T)
    column, parent = nodes[COLUMN], nodes[PARENT]
    fields = dict(zip(_NAMES, nodes, strict=True)) | {
        "parent": np.where(parent >= 0, new[np.maximum(parent, 0)], -1),
        "right": np.where(column >= 0, new[nodes[RIGHT]], 0),
        "missing_left": nodes[MISSING_LEFT].astype(bool),
        "stats": grown.stats[order],
        "subset_codes": grown.codes,
    }
    del fields["left"]  # in pre-order it is the next node
    return fields, order


@kernel
def visit_order(column: Ints, left: Ints, right: Ints) -> Ints:
    """Return the node numbers in pre-order."""
    n = column.shape[0]
    order = np.empty(n, np.int64)
    stack = np.empty(n + 1, np.int64)
    stack[0] = 0
    top, k = 1, 0
    while top > 0:
        top -= 1
        node = stack[top]
        order[k] = node
        k += 1
        if column[node] >= 0:
            # The left child lies on top, so that it gets the number after its parent's.
            stack[top] = right[node]
            stack[top + 1] = left[node]
            top += 2
    return order
