"""`hedgerow.compare_models`: one regression on the original and on a release, side by side or answered for a recipient.

Statsmodels fits (the extra ``models``). For a recipient only *agrees*, *differs* or *refused* is printed of each
coefficient, and a private file beside the release counts the answers.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from statistics import NormalDist
from typing import Any, Literal, NamedTuple, TypedDict, cast

import numpy as np

from ..columns.column import Column
from ..columns.table import Table
from ..display import fitted, notebook_html, wrapped
from ..errors import HedgerowError, InputError, ParameterError, SchemaError, UnsupportedError, did_you_mean, needed
from ..files import locked, read_text, write_private
from ..kernels import Bools, Floats, Ints
from ..release import Release
from ..release.folder import PLAN, file_facts, released_file
from ..release.guard_words import hides_relations
from ..release.private_release import PrivateRelease
from ..schema import Schema
from ..validation import FLAG, TEXT, check_one_of, one_of, takes
from .backend import Holder
from .formula import Design, Entry, Formula, designs, parse
from .subject import check_order, folder_of, subject

FAMILIES = ("ols", "logit", "poisson", "quantile")
# questions that are answered about one release, and coefficients of one question
MOST_QUESTIONS, MOST_ANSWERED = 20, 50
# people that an answer needs where no plan names k
USUAL_K = 10
# standard deviation of the noise on a recipient's t value, as a multiple of the most that one person moves it
NOISE = 2.0
# a column of which the columns before leave a smaller part unexplained follows from them
_COLLINEAR = 1e-8
# standard errors, of columns of mean square 1 in a logit or Poisson model, beyond which there is no finite estimate
_ENDLESS = 1e3
Answer = Literal["agrees", "differs", "refused", "absent"]
AGREES = """\
agrees: above 0, below 0 or neither at 5%, as in the release; refused: it depends on too few people. Near a threshold \
the answer is drawn."""
WITHHELD = "Refused: too few people carry what the formula names or lacks, or it cannot be fitted."


@dataclass(frozen=True)
class TableEstimate:
    """A coefficient in one table, with its plain standard error.

    Parameters
    ----------
    estimate, error : float
        In units of the response for one unit of the column (of log odds for a logit, of logs for Poisson).
    low, high : float
        The 95% interval.
    p : float
        Of the test that it is nought.
    """

    estimate: float
    error: float
    low: float
    high: float
    p: float

    @property
    def conclusion(self) -> int:
        """Return the conclusion at 5%: 1 above nought, -1 below, 0 neither."""
        return int(self.low > 0) - int(self.high < 0)


@dataclass(frozen=True)
class Coefficient:
    """A coefficient of the model in both tables.

    Parameters
    ----------
    name : str
        Such as "age", "job[nurse]" or "age:job[nurse]".
    answer : {"agrees", "differs", "refused", "absent"}
        Whether both tables give the same conclusion at 5%: above nought, below nought, or neither. "refused": too few
        people carry it (for recipients). "absent": nobody in one table does.
    original, release : TableEstimate, optional
        None where nobody carries it; both None for recipients.
    """

    name: str
    answer: Answer
    original: TableEstimate | None = None
    release: TableEstimate | None = None

    @property
    def inside(self) -> bool | None:
        """Return whether the release's estimate lies inside the original's 95% interval."""
        if self.original is None or self.release is None:
            return None
        return self.original.low <= self.release.estimate <= self.original.high

    @property
    def overlap(self) -> float | None:
        """Return the mean share of both 95% intervals that they have in common (Karr et al. 2006), 0 to 1."""
        one, two = self.original, self.release
        if one is None or two is None:
            return None
        common = max(min(one.high, two.high) - max(one.low, two.low), 0.0)
        widths = [each.high - each.low for each in (one, two)]
        return sum(common / width if width else float(one.low == two.low) for width in widths) / 2


@dataclass(frozen=True, repr=False)
class ModelComparison:
    """A regression on the original and on a release, as `compare_models` returns it.

    Private, unless it was made for a recipient.

    Parameters
    ----------
    formula : str
        As it was read.
    family : {"ols", "logit", "poisson", "quantile"}
    coefficients : tuple of Coefficient
    rows : (int, int), optional
        Complete rows of original and release; None for recipients.
    notes : tuple of str
    """

    formula: str
    family: str
    coefficients: tuple[Coefficient, ...]
    rows: tuple[int, int] | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"ModelComparison({self.formula!r}, {self.family}, {len(self.coefficients)} coefficients)"

    def __str__(self) -> str:
        head, rows = self.text_rows()
        table = [""] * bool(rows) + (fitted(rows, head) if rows else [])
        return "\n".join([wrapped(f"{self.family}: {self.formula}"), *table, "", *map(wrapped, self.sentences())])

    def _repr_html_(self) -> str:
        head, rows = self.text_rows()
        return notebook_html(f"{self.family}: {self.formula}", self.sentences(), ("", head, rows))

    def to_dict(self) -> dict[str, object]:
        """Return the comparison as plain data, for a recipient with the answers alone."""
        data: dict[str, object] = {"formula": self.formula, "family": self.family, "notes": list(self.notes)}
        if self.rows is None:
            return data | {"coefficients": [{"name": c.name, "answer": c.answer} for c in self.coefficients]}
        rows = [{**asdict(c), "inside": c.inside, "overlap": c.overlap} for c in self.coefficients]
        return data | {"rows": dict(zip(("original", "release"), self.rows, strict=True)), "coefficients": rows}

    def text_rows(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return the head and the rows of the table, as text."""
        if self.rows is None:
            return ("coefficient", "answer"), [(_one_line(c.name), c.answer) for c in self.coefficients]
        rows = []
        for c in self.coefficients:
            rows += [
                (_one_line(c.name), "original", *_cells(c.original)),
                (f"  {c.answer}", "release", *_cells(c.release)),
            ]
        return ("coefficient", "table", "estimate", "error", "p", "95% interval"), rows

    def sentences(self) -> list[str]:
        """Return the sentences below the table."""
        both = [c for c in self.coefficients if c.inside is not None]
        counts = [sum(c.answer == "agrees" for c in both), sum(c.inside is True for c in both)]
        if not both:
            return list(self.notes)
        overlap = np.mean([c.overlap for c in both if c.overlap is not None])
        return [
            f"{counts[0]} of {len(both)} conclusions at 5% stay; {counts[1]} of {len(both)} estimates of the release "
            f"lie inside the original's 95% interval; intervals overlap by {overlap:.2f} on average.",
            *self.notes,
        ]


def _one_line(name: str) -> str:
    """Return a name without signs that would begin another row of a table, such as those of a category."""
    return "".join(sign if sign.isprintable() else "?" for sign in name)


def _cells(one: TableEstimate | None) -> tuple[str, ...]:
    if one is None:
        return ("-",) * 4
    estimate, error, low, high = (
        f"{each:,.0f}" if 1000 <= abs(each) < 1e12 else f"{each:.3g}"
        for each in (one.estimate, one.error, one.low, one.high)
    )
    return estimate, error, "<.001" if one.p < 0.001 else f"{one.p:.3f}", f"{low} to {high}"


@takes(formula=TEXT, schema=one_of(Schema, "a Schema"), family=TEXT, for_recipient=FLAG)
def compare_models(
    original: Any,
    release: Any,
    formula: str,
    schema: Schema | None = None,
    *,
    family: str = "ols",
    for_recipient: bool = False,
) -> ModelComparison:
    """Fit one regression on the original and on a release, and say which conclusions stay.

    Standard errors are the plain ones of statsmodels; sampling weights and the factor of RECIPIENT.md are not
    applied. Columns of categories become dummies, without the first category that both tables have. Dates count days.
    Rows that are incomplete in a named column are left out.

    Parameters
    ----------
    original : path, pandas, Polars or Arrow table, DuckDB relation
    release : Release, release folder, or a released file or table
    formula : str
        ``income ~ age + C(education)``: columns, names with blanks in backquotes, C() for numbers that are codes,
        log(), powers (``age**2``), products (``a:b``, and ``a*b`` for a + b + a:b) and ``- 1`` for no intercept.
        It is parsed and never run.
    schema : Schema, optional
        Kinds of the columns and how text files are read; by default those of the release's plan.
    family : {"ols", "logit", "poisson", "quantile"}
        Least squares, logit of two values, Poisson with a log link, or the median.
    for_recipient : bool
        Answer only *agrees* or *differs* for each coefficient, so that it can be passed on. The release must be a
        folder with its plan, beside which ``NAME.answers.json`` (private) counts: the twentieth question is the last.

    Returns
    -------
    ModelComparison

    Raises
    ------
    ParameterError
        The formula has what the grammar does not allow, its columns follow from each other, a logit's outcome does not
        vary, or twenty questions were answered.
    SchemaError
        A column is missing in one of the tables, or is of another kind there.
    UnsupportedError
        Statsmodels is not installed; or no answers for a recipient can be counted or are possible.

    Notes
    -----
    For a recipient, whatever depends on few people is refused: coefficients to which fewer than k (to 2k, by a secret)
    people contribute in effect, rows that few people are left out of, or that differ by few people from those of an
    earlier question. Noise of twice what any one person moves lies on each t value. The answers are not
    differentially private.

    Examples
    --------
    >>> import hedgerow as hr
    >>> people = hr.datasets.make_people(500, seed=1).select(["age", "income"])
    >>> release = hr.protect(people, hr.Schema(quasi=["age"], sensitive=["income"]), random_state=1)
    >>> compare_models(people, release, "income ~ age")
    ModelComparison('income ~ age', ols, 2 coefficients)
    """
    check_one_of("family", family, FAMILIES)
    needed("statsmodels", "models", "comparisons of models")
    parsed = parse(formula)
    check_order(original, release)
    folder = folder_of(release)
    has_plan = folder is not None and (folder / PLAN).exists()
    if for_recipient and not has_plan:
        raise UnsupportedError("answers are counted beside a release folder with its plan: give that folder")
    if has_plan or isinstance(release, (Release, PrivateRelease)):
        # who counts as one person is the plan's to say
        what = subject(release, None if for_recipient else schema, None)
        schema, released, k = what.schema, what.table, what.k
        if for_recipient and schema.is_long:
            raise UnsupportedError("people have several rows here, and answers are counted by rows")
        if for_recipient and what.is_private:
            raise UnsupportedError("this release promises epsilon, which answers from the original would exceed")
        if for_recipient and hides_relations(what.plan):
            raise UnsupportedError("this release has a cap on the file, which answers about relations would undo")
        if what.numbered in {factor.column for factor in parsed.factors}:
            raise SchemaError(f"column {what.numbered!r} is released as numbers of groups, and no model can use it")
    else:
        schema, k = schema or Schema(), None
        released = Holder().released(release if folder is None else released_file(folder), schema)
    sources = _Sources(Holder().original(original, schema), released, schema)
    if for_recipient:
        assert folder is not None
        return _answered(sources, parsed, family, folder.resolve(), k or USUAL_K)
    return _compared(sources, parsed, family)


@dataclass(frozen=True, eq=False)
class _Sources:
    """Both tables and the schema by which their columns are read."""

    original: Table
    released: Table
    schema: Schema

    def read(self, formula: Formula) -> tuple[Formula, dict[str, tuple[Column, Column]]]:
        """Return the formula without C() around categories, and its columns in both tables."""
        both = [name for name in self.original.names if name in self.released.names]
        columns = {}
        for name in dict.fromkeys(factor.column for factor in formula.factors):
            if name not in both:
                raise SchemaError(f"there is no column {name!r} in both tables{did_you_mean(name, both)}")
            one, two = (table.declared_column(self.schema, name) for table in (self.original, self.released))
            if one.is_number != two.is_number:
                raise SchemaError(f"column {name!r} holds numbers in one table, and texts such as ranges in the other")
            columns[name] = (one, two)
        return formula.with_categories({n for n, (one, _) in columns.items() if not one.is_number}), columns


class _Fit(NamedTuple):
    """A fitted model: estimates of the columns that somebody carries, and what single people add to them."""

    estimates: list[TableEstimate | None]
    present: Bools
    # with columns of mean square 1: coefficients, working rows, residuals, and the variance of these if it is estimated
    scaled: Floats
    x: Floats
    residuals: Floats
    scale: float | None


def _compared(sources: _Sources, formula: Formula, family: str) -> ModelComparison:
    formula, columns = sources.read(formula)
    built = designs(formula, columns, family == "logit")
    first = _fitted(built.entries, built.original, family, "original")
    second = _fitted(built.entries, built.release, family, "release")
    coefficients = [
        Coefficient(entry.name, "absent" if one is None or two is None else _answer(one.conclusion, two), one, two)
        for entry, one, two in zip(built.entries, first.estimates, second.estimates, strict=True)
    ]
    rows, notes = (len(built.original.y), len(built.release.y)), list[str]()
    for name, n, table in zip(("original", "release"), rows, (sources.original, sources.released), strict=True):
        if n < table.n_rows:
            notes.append(f"{n:,} of {table.n_rows:,} rows of the {name} are complete in these columns.")
    if absent := [c.name for c in coefficients if c.answer == "absent"]:
        more = f" and {len(absent) - 10} more" if absent[10:] else ""
        notes.append(f"Absent in one of the tables: {_one_line(', '.join(absent[:10]))}{more}.")
    if sources.schema.weight is not None:
        notes.append(f"The sampling weights {sources.schema.weight!r} are not used.")
    return ModelComparison(str(formula), family, tuple(coefficients), rows, (*notes, "Standard errors are plain ones."))


def _answer(conclusion: int, release: TableEstimate) -> Answer:
    return "agrees" if conclusion == release.conclusion else "differs"


def _fitted(entries: Sequence[Entry], design: Design, family: str, table: str) -> _Fit:
    """Fit a model by statsmodels, with columns brought to mean square 1 and their estimates brought back.

    Raises
    ------
    ParameterError
        Columns follow from each other, there are too few rows, or there is no finite estimate.
    """
    present = (design.x != 0).any(axis=0)
    # no category in a message: it may be one person's
    used = np.array([entry.plain for entry in entries])[present]
    scale = np.sqrt((design.x[:, present] ** 2).mean(axis=0))
    x, y, is_linear = design.x[:, present] / scale, design.y, family in ("ols", "quantile")
    if not len(y) > len(used) > 0:
        raise ParameterError(f"the {table} has {len(y):,} complete rows, too few for {len(used)} coefficients")
    parts = np.abs(np.diag(np.linalg.qr(x, mode="r"))) / np.sqrt(len(y))
    if (parts < _COLLINEAR).any():
        raise ParameterError(
            f"in the {table} {_listed(used[parts < _COLLINEAR])} cannot be told from the columns before",
            hint="leave it out; a product needs its columns by themselves as well, as a*b has them",
        )
    if (y.min() == y.max()) or (family == "poisson" and y.min() < 0):
        raise ParameterError(f"in the {table} the column to explain does not vary, or is below 0 for family poisson")
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        result: Any = _result(family, y, x)
        error, params = np.asarray(result.bse), np.asarray(result.params)
        lacking = ~(error < (np.inf if is_linear else _ENDLESS))
        limited = any(each.category.__name__ == "IterationLimitWarning" for each in caught)
        if lacking.any() or limited or not getattr(result, "converged", True):
            raise ParameterError(
                f"in the {table} there is no finite estimate of {_listed(used[lacking]) or 'the coefficients'}",
                hint="leave out categories in which the outcome does not vary",
            )
        columns = np.column_stack([params, error, result.conf_int(0.05)]) / scale[:, None]
        values = iter(np.column_stack([columns, result.pvalues]).tolist())
    estimates = [TableEstimate(*next(values)) if is_there else None for is_there in present]
    if is_linear:
        return _Fit(estimates, present, params, x, np.asarray(result.resid), float(result.scale))
    spread = np.sqrt(result.family.variance(result.mu))
    return _Fit(estimates, present, params, x * spread[:, None], (y - result.mu) / spread, None)


def _listed(names: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(names))
    return ", ".join([*distinct[:5], *(["others"] if distinct[5:] else [])])


def _result(family: str, y: Floats, x: Floats) -> Any:
    """Return what statsmodels fits; a logit is a binomial model with the canonical link."""
    if family == "quantile":
        return import_module("statsmodels.regression.quantile_regression").QuantReg(y, x).fit(q=0.5)
    if family == "ols":
        return import_module("statsmodels.regression.linear_model").OLS(y, x).fit()
    families = import_module("statsmodels.genmod.families")
    kind = families.Poisson() if family == "poisson" else families.Binomial()
    model = import_module("statsmodels.genmod.generalized_linear_model").GLM
    try:
        return model(y, x, family=kind).fit()
    except (ValueError, np.linalg.LinAlgError):  # weights of 0, after separation
        raise ParameterError("there are no finite estimates: the columns tell the outcome exactly") from None


class Question(TypedDict):
    """A question that was answered, in the file beside the release."""

    formula: str
    family: str
    release: str
    columns: list[str]
    answers: dict[str, Answer]


class Book(TypedDict):
    """The file of answers: the secret of their noise, and every question."""

    hedgerow_answers: int
    secret: str
    questions: list[Question]


def _answered(sources: _Sources, formula: Formula, family: str, folder: Path, k: int) -> ModelComparison:
    """Answer a recipient's question once, and count it before the answer is returned."""
    if family == "quantile":
        raise UnsupportedError("a recipient is told of ols, logit and poisson: what one moves of a median is open")
    formula, columns = sources.read(formula)
    # what the recipient can do without the original is neither secret nor counted
    alone = designs(formula, {name: (two, two) for name, (_, two) in columns.items()}, family == "logit")
    if len(alone.entries) > MOST_ANSWERED:
        raise ParameterError(f"the formula has {len(alone.entries)} coefficients; {MOST_ANSWERED} at most are answered")
    estimates = _fitted(alone.entries, alone.release, family, "release").estimates
    released = {e.name: one for e, one in zip(alone.entries, estimates, strict=True) if one is not None}
    path = folder.parent / f"{folder.name}.answers.json"
    file, names = str(file_facts(released_file(folder))["sha256"]), sorted(columns)
    question = Question(formula=str(formula), family=family, release=file, columns=names, answers={})
    with locked(folder):
        book = _book(path)
        same = [i for i, q in enumerate(book["questions"]) if {**q, "answers": {}} == question]
        if not same:
            if len(book["questions"]) >= MOST_QUESTIONS:
                raise UnsupportedError(f"{MOST_QUESTIONS} questions about this release were answered, the most")
            # a refusal tells as well, so it counts, and says not why
            with suppress(HedgerowError, ValueError, np.linalg.LinAlgError):
                question["answers"] = _Judge(sources, formula, family, k, book).answers(columns, released)
            same = [len(book["questions"])]
            book["questions"].append(question)
            write_private(path, json.dumps(book, indent=1, ensure_ascii=False) + "\n")
    answers = book["questions"][same[0]]["answers"]
    notes = (AGREES if answers else WITHHELD, f"Question {same[0] + 1} of {MOST_QUESTIONS} about this release.")
    return ModelComparison(str(formula), family, tuple(Coefficient(*pair) for pair in answers.items()), None, notes)


def _book(path: Path) -> Book:
    """Return the file of answers, or a new one; raise InputError for a damaged one, which might forget some."""
    if not path.exists():
        return Book(hedgerow_answers=1, secret=secrets.token_hex(32), questions=[])
    text = read_text(path, "the answers", InputError)
    try:
        book = json.loads(text)
        is_whole = book["hedgerow_answers"] == 1 and len(bytes.fromhex(book["secret"])) == 32
        is_whole &= isinstance(book["questions"], list)
        is_whole &= all(q.keys() == Question.__annotations__.keys() for q in book["questions"])
        is_whole &= all(isinstance(q["columns"], list) and isinstance(q["answers"], dict) for q in book["questions"])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        is_whole = False
    if not is_whole:
        raise InputError(f"{path} is no file of answers, so nothing is answered", hint="bring back a copy of it")
    return cast(Book, book)


@dataclass(frozen=True, eq=False)
class _Judge:
    """A question to the original, whose answers are refused where they depend on few people.

    Parameters
    ----------
    sources : _Sources
    formula : Formula
    family : str
    k : int
        People that an answer needs at least; by the secret up to twice as many, so that nobody crosses it for certain.
    book : Book
    """

    sources: _Sources
    formula: Formula
    family: str
    k: int
    book: Book

    def _uniform(self, *about: str) -> float:
        """Return a number in (0, 1) that follows from the secret and what it is about."""
        digest = hmac.digest(bytes.fromhex(self.book["secret"]), json.dumps(about).encode(), hashlib.sha256)
        return (int.from_bytes(digest[:6]) + 0.5) / 2**48

    def _needed(self, *about: str) -> int:
        return self.k + int(self._uniform("people", *about) * (self.k + 1))

    def answers(
        self, columns: Mapping[str, tuple[Column, Column]], released: Mapping[str, TableEstimate]
    ) -> dict[str, Answer]:
        """Return the answer to each coefficient of the release.

        Raises
        ------
        ParameterError
            Nothing of this question is answered.
        """
        built = designs(self.formula, columns, self.family == "logit")
        design, places = built.original, {entry.name: at for at, entry in enumerate(built.entries)}
        people = self._people()
        self._check_rows(design.rows, people, sorted(columns))
        people = people[design.rows]
        values, counts = np.unique(design.y, return_counts=True)
        is_rare = _n_distinct(people[design.y != values[counts.argmax()]]) < self._needed("outcome")
        if is_rare or not released.keys() <= places.keys():  # whoever lacks a category compares with another one
            raise ParameterError(WITHHELD)
        fit = _fitted(built.entries, design, self.family, "original")
        effective, moved, noise = _influence(fit, people)
        answers = dict[str, Answer](dict.fromkeys(released, "refused"))
        for name, estimate in released.items():
            if (original := fit.estimates[places[name]]) is None:
                continue
            at = fit.present[: places[name]].sum()
            carriers = min(_n_distinct(people[cell]) for cell in built.cells(built.entries[places[name]]))
            t = original.estimate / original.error
            if min(carriers, effective[at]) < self._needed(name) or not moved[at] <= max(0.5, abs(t) / 4):
                continue
            deviate = NormalDist().inv_cdf(self._uniform("noise", str(self.formula), self.family, name))
            t, critical = t + noise[at] * deviate, (original.high - original.estimate) / original.error
            answers[name] = _answer(int(t > critical) - int(t < -critical), estimate)
        return answers

    def _people(self) -> Ints:
        """Return whose each row of the original is: a household's, a person's, or its own."""
        table, name = self.sources.original, self.sources.schema.household or self.sources.schema.person
        codes = np.arange(table.n_rows) if name is None else table.column(name, kind="categorical").codes
        return codes.astype(np.int64)

    def _check_rows(self, rows: Bools, people: Ints, names: Sequence[str]) -> None:
        """Raise ParameterError if few people are left out, of all and of those of an earlier question."""
        table, schema = self.sources.original, self.sources.schema
        others, least = [np.ones(table.n_rows, bool)], self._needed("rows", *names)
        for question in self.book["questions"]:
            read = [table.declared_column(schema, name) for name in question["columns"]]
            parts = [np.isfinite(c.numbers) if c.is_number else c.codes < c.n_values for c in read]
            others.append(np.logical_and.reduce(parts))
        if any(0 < _n_distinct(people[rows != other]) < least for other in others):
            raise ParameterError(WITHHELD)


def _n_distinct(people: Ints) -> int:
    return len(np.unique(people))


def _influence(fit: _Fit, people: Ints) -> tuple[Floats, Floats, Floats]:
    """Measure how much of each coefficient single people carry.

    Parameters
    ----------
    fit : _Fit
        Of p coefficients from n rows.
    people : int array, shape (n,)

    Returns
    -------
    effective : array, shape (p,)
        The effective number of people, (sum w)^2 / sum w^2: the least of three, with the squares of their weights
        as w, and with the weights of either side of a contrast. All of them if they weigh alike, 1 if one has all.
    moved : array, shape (p,)
        The most that one person's rows move its t value, exact for one row in least squares, and one step of
        the fit otherwise (Cook and Weisberg 1982; Pregibon 1981).
    noise : array, shape (p,)
        Standard deviation of the noise on each t value: `NOISE` times what one person moves of it, and so large that
        with and without any one person all of them together are one deviation apart at most (Gaussian mechanism).
    """
    x, residuals, (n, p) = fit.x, fit.residuals, fit.x.shape
    inverse = np.linalg.inv(x.T @ x)
    weights, variances = x @ inverse, np.diag(inverse)
    rest = np.maximum(1 - (weights * x).sum(axis=1), 1e-9)[:, None]
    moved, variance, others = weights * residuals[:, None] / rest, 1.0, np.ones((n, 1))
    if fit.scale is not None:  # which one person moves as well
        variance, freedom = fit.scale, max(n - p - 1, 1)
        others = np.maximum(((n - p) * variance - residuals[:, None] ** 2 / rest) / freedom, 1e-300)
    t = fit.scaled / np.sqrt(variance * variances)
    changes = (fit.scaled - moved) / np.sqrt(others * (variances + weights**2 / rest)) - t
    _, whose = np.unique(people, return_inverse=True)
    squares, signed, changed = (
        np.array([np.bincount(whose, column) for column in each.T]) for each in (weights**2, weights, changes)
    )
    effective = squares.sum(axis=1) ** 2 / (squares**2).sum(axis=1)
    for side in (np.maximum(signed, 0.0), np.maximum(-signed, 0.0)):
        total = side.sum(axis=1)
        few = total**2 / np.maximum((side**2).sum(axis=1), 1e-300)
        effective = np.minimum(effective, np.where(total > 0.05 * np.abs(signed).sum(axis=1), few, np.inf))
    moved = np.abs(changed).max(axis=1)
    # who moves all contrasts at once, as of a reference category, is seen in each of them
    together = np.sqrt(((changed / np.maximum(moved, 1e-300)[:, None]) ** 2).sum(axis=0).max())
    return effective, moved, np.maximum(NOISE, together) * moved
