"""Full-domain generalisation: Datafly's greedy walk and Incognito's complete search."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from ..columns.table import Table
from ..errors import InfeasibleError, ParameterError
from ..hierarchy import Hierarchy
from ..measures import Persons
from ..measures.guarantees import (
    Check,
    ColumnGuarantee,
    Disclosure,
    KAnonymity,
    LDiversity,
    TCloseness,
)
from ..plan import Plan
from ..schema import Schema
from ..validation import MAPPING, NUMBER, Kind, check_one_of
from .base import Method, check_columns
from .estimator import renamed
from .generalization import Domain, accept, build
from .lattice import LOSSES, Lattice, Outcome
from .validation import check_named, check_people

Diversity = Literal["entropy", "distinct", "recursive"]
Search = Literal["minimal", "optimal"]
Objective = Literal["loss", "precision", "height", "discernibility", "average_class"]


class _FullDomain(Method):
    """What both methods share: the lattice in, one node out, as a plan of column maps."""

    k: int
    hierarchies: Mapping[str, Hierarchy] | None
    suppression: float
    needs_sensitive = False
    heeds = ("unit", "household")
    engines = ("memory", "duckdb", "spark")
    kinds: ClassVar[Mapping[str, Kind]] = {"hierarchies": MAPPING, "suppression": NUMBER}
    not_told = (*Method.not_told, "hierarchies")  # the maps say what became of each value

    def _guarantees(self) -> list[ColumnGuarantee]:
        """What is promised beyond the size of a class."""
        return []

    def side_by_side(self, schema: Schema) -> tuple[str, ...]:
        """Sensitive columns where something is promised of them."""
        return (*schema.quasi, *(schema.sensitive if self._guarantees() else ()))

    def _fit(self, table: Table, schema: Schema) -> Plan:
        # ties go by the table's columns, and not by who wrote the schema
        return self._search(
            table, schema.replace(quasi=[name for name in table.names if name in schema.quasi])
        )

    def _search(self, table: Table, schema: Schema) -> Plan:
        """The plan of the node that is taken."""
        raise NotImplementedError

    def _lattice(self, table: Table, schema: Schema, loss: str) -> tuple[Domain, Lattice]:
        persons = self._check_k(table, schema)
        check_columns(table, schema)
        guarantees = self._guarantees()
        diverse = bool(guarantees)
        if diverse and not schema.sensitive:
            raise ParameterError("l and t are about sensitive columns, and the schema has none")
        check_named("hierarchies", self.hierarchies or (), schema)
        domain = build(
            table,
            schema,
            {**schema.hierarchies, **(self.hierarchies or {})},
            diverse,
            persons,
        )
        limit = math.floor(self.suppression * table.n_rows + 1e-9)
        test = accept(domain.sensitive, guarantees)
        lattice = Lattice(
            domain.axes,
            domain.codes,
            domain.size,
            domain.hist,
            self.k,
            test,
            limit,
            loss,
            monotone=not (limit and (diverse or persons)),
            units=domain.units,
        )
        return domain, lattice

    def _check_k(self, table: Table, schema: Schema) -> Persons | None:
        persons = check_people(self.k, table, schema, 1)
        if not 0 <= self.suppression < 1:
            raise ParameterError(f"suppression must be a share in [0, 1), not {self.suppression!r}")
        return persons

    def _plan(
        self, table: Table, schema: Schema, domain: Domain, lattice: Lattice, best: Outcome | None
    ) -> Plan:
        if best is None:
            raise InfeasibleError(
                "no full-domain generalisation of this table keeps what was asked, not even the "
                "top of every hierarchy",
                hint="lower k, l or raise t, or allow more suppression",
            )
        classes = lattice.classes(best.node)
        out = lattice.suppressed_classes(classes)
        assert out is not None
        self.node_ = dict(zip(schema.quasi, best.node, strict=True))
        self.loss_, self.suppressed_ = best.loss, best.suppressed
        promises = [KAnonymity.of(self.k, schema), *self._guarantees()]
        recoding = domain.recoding(best.node, lattice, classes, out)
        return self._planned(table, schema, recoding, promises)

    def release_checks(self, original: Table, released: Table) -> list[Check]:
        """That no more rows are suppressed than was allowed."""
        limit = math.floor(self.suppression * original.n_rows + 1e-9)
        return [Check("suppressed rows", limit, self.suppressed_, self.suppressed_ <= limit)]


@dataclass(eq=False, repr=False)
class Datafly(_FullDomain):
    """Coarsen the column with the most values, again and again, until few rows are too rare.

    All values of a column are raised to the same level of its hierarchy. The rows whose
    combination fewer than k share at the end are released as ``*``.

    Parameters
    ----------
    k : int
        Smallest class of equal quasi-identifiers.
    hierarchies : mapping of str to Hierarchy, optional
        Per quasi-identifier; built from the data where none is given.
    suppression : float
        Largest share of rows that may be released as ``*``, in [0, 1); by default none. As
        published it is k / n.
    schema : Schema, optional
        Kinds, category orders and hierarchies for `fit(X, y)`.

    Attributes
    ----------
    node_ : dict
        Level of each quasi-identifier.
    loss_, suppressed_
        Normalised loss in [0, 1] and the rows suppressed.

    References
    ----------
    L. Sweeney, "Guaranteeing anonymity when sharing medical data, the Datafly system" (1997).

    Examples
    --------
    >>> import pyarrow as pa
    >>> from hedgerow import Schema
    >>> people = pa.table({"zip": ["111", "112", "121", "122"], "ill": ["a", "b", "c", "d"]})
    >>> places = Hierarchy.from_prefixes(["111", "112", "121", "122"])
    >>> method = Datafly(k=2, hierarchies={"zip": places})
    >>> method.fit_table(Table(people), Schema(quasi=["zip"], sensitive=["ill"])).node_
    {'zip': 1}
    """

    k: int = 5
    _: KW_ONLY
    hierarchies: Mapping[str, Hierarchy] | None = None
    suppression: float = 0.0
    schema: Schema | None = None

    def _search(self, table: Table, schema: Schema) -> Plan:
        domain, lattice = self._lattice(table, schema, "loss")
        node = [0] * len(domain.axes)
        best = lattice.outcome(tuple(node))
        while best is None:
            rows = lattice.classes(tuple(node)).row
            labels = lattice.labels(tuple(node), rows)
            distinct = [len(np.unique(labels[:, i])) for i in range(len(node))]
            open_axes = [i for i in range(len(node)) if node[i] + 1 < lattice.heights[i]]
            if not open_axes:
                break
            # The first column of the table among those with the most values left.
            node[max(open_axes, key=lambda i: (distinct[i], -i))] += 1
            best = lattice.outcome(tuple(node))
        return self._plan(table, schema, domain, lattice, best)


@renamed(loss="objective")
@dataclass(eq=False, repr=False)
class Incognito(_FullDomain):
    """Find the levels of the hierarchies that keep every promise and lose the least.

    All values of a column are raised to the same level of its hierarchy. The search looks at every
    combination of levels, and passes over only those that cannot be best.

    Parameters
    ----------
    k : int
        Smallest class of equal quasi-identifiers.
    l : float, optional
        Diversity of every sensitive column in every class: as if an intruder were left with
        at least l values.
    diversity : {"entropy", "distinct", "recursive"}
        Which diversity: entropy of at least log(l); l different values; or
        r_1 < c (r_l + ... + r_d) with falling counts r.
    t : float, optional
        t-closeness: largest earth mover's distance of a class from the table, in [0, 1].
    max_disclosure : float, optional
        Largest disclosure of any class and sensitive column, in (0, 1], as in `MART`.
    hierarchies : mapping of str to Hierarchy, optional
        Per quasi-identifier; built from the data where none is given.
    suppression : float
        Largest share of rows that may be released as ``*`` in every quasi-identifier.
        They form one more class that must keep the criteria.
    search : {"optimal", "minimal"}
        "optimal": the node of least loss among all nodes. "minimal": all nodes without a
        releasable node below them are found first (`minimal_`), the best of them is taken.
    objective : {"loss", "precision", "height", "discernibility", "average_class"}
        What the best node minimises, suppressed rows included: the share of the domain
        that a released cell covers; Sweeney's precision; the sum of levels; squared class
        sizes; mean class size over k.
    c : float
        The constant of recursive diversity.
    schema : Schema, optional
        Kinds, category orders and hierarchies for `fit(X, y)`.

    Attributes
    ----------
    node_ : dict
        Level of each quasi-identifier.
    minimal_ : list of dict
        The minimal nodes with their loss (with ``search="minimal"``).
    loss_, suppressed_
        Loss of the node taken and the rows suppressed.

    References
    ----------
    K. LeFevre, D. DeWitt, R. Ramakrishnan, "Incognito: efficient full-domain
    k-anonymity" (SIGMOD 2005); F. Kohlmayer et al., "Flash" (PASSAT 2012) for halving
    upward chains; A. Machanavajjhala et al. (2007) and N. Li et al. (2007) for the criteria.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from hedgerow import Schema
    >>> people = pa.table({"zip": ["111", "112", "121", "122"], "ill": ["a", "b", "c", "c"]})
    >>> places = Hierarchy.from_prefixes(["111", "112", "121", "122"])
    >>> method = Incognito(k=2, l=2, diversity="distinct", hierarchies={"zip": places})
    >>> method.fit_table(Table(people), Schema(quasi=["zip"], sensitive=["ill"])).node_
    {'zip': 2}
    """

    kinds: ClassVar[Mapping[str, Kind]] = {
        **_FullDomain.kinds,
        "l": NUMBER,
        "t": NUMBER,
        "max_disclosure": NUMBER,
        "c": NUMBER,
    }

    k: int = 5
    _: KW_ONLY
    l: float | None = None
    diversity: Diversity = "entropy"
    t: float | None = None
    max_disclosure: float | None = None
    hierarchies: Mapping[str, Hierarchy] | None = None
    suppression: float = 0.0
    search: Search = "optimal"
    objective: Objective = "loss"
    c: float = 3.0
    schema: Schema | None = None

    @property
    def title(self) -> str:
        """Its name with its objective."""
        return f"{type(self).__name__} ({self.objective})"

    def _search(self, table: Table, schema: Schema) -> Plan:
        self._check()
        domain, lattice = self._lattice(table, schema, self.objective)
        if self.search == "minimal":
            found = lattice.minimal()
            self.minimal_ = [
                {
                    "node": dict(zip(schema.quasi, o.node, strict=True)),
                    "loss": o.loss,
                    "suppressed": o.suppressed,
                    "classes": o.classes,
                }
                for o in found
            ]
            best = found[0] if found else None
        else:
            best = lattice.optimal()
        return self._plan(table, schema, domain, lattice, best)

    def _guarantees(self) -> list[ColumnGuarantee]:
        made: list[ColumnGuarantee] = []
        if self.l is not None:
            c = self.c if self.diversity == "recursive" else None
            made.append(LDiversity(self.l, self.diversity, c))
        if self.t is not None:
            made.append(TCloseness(self.t))
        if self.max_disclosure is not None and self.max_disclosure < 1:
            made.append(Disclosure(float(self.max_disclosure)))
        return made

    def _check(self) -> None:
        check_one_of("search", self.search, get_args(Search))
        check_one_of("objective", self.objective, LOSSES)
        check_one_of("diversity", self.diversity, get_args(Diversity))
        if self.l is not None and not (math.isfinite(self.l) and self.l >= 1):
            raise ParameterError(f"l must be at least 1, not {self.l!r}")
        if self.l is not None and self.diversity != "entropy" and self.l != int(self.l):
            raise ParameterError(f"l is a whole number for {self.diversity} diversity")
        if self.t is not None and not 0 <= self.t <= 1:
            raise ParameterError(f"t must lie in [0, 1], not {self.t!r}")
        if self.max_disclosure is not None:
            Disclosure(self.max_disclosure)  # says what is out of range
        if not (math.isfinite(self.c) and self.c > 0):
            raise ParameterError(f"c must be above 0, not {self.c!r}")
