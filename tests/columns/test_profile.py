"""Proposed roles, kinds and reasons."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow import datasets
from hedgerow.backends import select
from hedgerow.columns.roles import profile
from hedgerow.io.file_format import FileLabels, VariableLabels
from hedgerow.io.read import read
from hedgerow.workflow.inspection import beforehand

N = 60


def role(name, values):
    return {p.name: p.role for p in profile(pa.table({name: values}))}[name]


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("x", [f"text {i}" for i in range(N)], "identifier"),
        ("contact", [f"a{i % 9}@b.org" for i in range(N)], "identifier"),
        ("contact", [f"+49 30 {100 + i % 9} 55" for i in range(N)], "identifier"),
        ("k", [str(uuid.UUID(int=i % 9)) for i in range(N)], "identifier"),
        ("name", [f"Name {i % 40}" for i in range(N)], "identifier"),
        ("lastName", [f"Name {i % 40}" for i in range(N)], "identifier"),
        ("SSN", list(range(1000, 1000 + 3 * N, 3)), "identifier"),
        ("person_id", list(range(1000, 1000 + 3 * N, 3)), "identifier"),
        ("row", list(range(N)), "identifier"),
        ("household_id", [i // 2 for i in range(400)], "identifier"),
        ("job_name", ["a", "b"] * 30, "quasi"),
        ("Age", list(range(N)), "quasi"),
        ("dateOfBirth", [dt.date(1990, 1, 1) + dt.timedelta(i) for i in range(N)], "quasi"),
        ("marital-status", ["a", "b"] * 30, "quasi"),
        ("anything", ["a", "b", "c"] * 20, "quasi"),
        ("few", [1, 2, 3] * 20, "quasi"),
        ("annual income", [i * 7 for i in range(N)], "sensitive"),
        ("capital-gain", [0] * 50 + list(range(10)), "sensitive"),
        ("diagnosis", ["flu", "cold"] * 30, "sensitive"),
        ("measure", np.linspace(0, 1, 300), "sensitive"),
        ("fnlwgt", list(range(0, 7 * N, 7)), "other"),
        ("same", [1] * N, "other"),
        ("none", pa.nulls(N), "other"),
        ("nested", [[1]] * N, "undeclared"),
        ("cover", ["medicaid", "none"] * 30, "quasi"),
    ],
)
def test_roles(name, values, expected):
    assert role(name, values) == expected


def test_surnames_of_many_people_are_no_quasi_identifier():
    """A million people share twenty thousand surnames, so few of the cells differ."""
    assert role("Nachname", [f"N{i % 200}" for i in range(10_000)]) == "identifier"
    assert role("telephone", ["yes", "no", "mobile"] * 100) == "quasi"
    # a name in Spanish, a number in French
    assert role("nombre d'enfants", list(range(13)) * 300) == "quasi"


@pytest.mark.parametrize("tick", ["x", -7, "ja", True, 1.0])
def test_a_tick_is_a_fact_about_a_person(tick):
    """What has one value or none was released exactly, as if it were constant."""
    ticks = [tick, None, None] * 20
    roles = [role(name, ticks) for name in ("HIV", "Suchtberatung", "V203", "depression", "married")]
    assert roles == ["sensitive"] * 4 + ["quasi"]
    assert role("HIV", [tick] * N) == "other"


def test_few_names_and_telephones_identify_people_as_many_do():
    """Four surnames were groups of people, and released."""
    names = ("Nachname", "Vorname", "surname", "first_name", "Apellidos", "prénom", "nom", "nombre", "patient name")
    for people in (["Berg", "Thal", "Au"], ["Berg"]):
        assert {p.role for p in profile(pa.table(dict.fromkeys(names, people * N)))} == {"identifier"}
    for calls in (["4711", "4712"], [4711, 4712], ["030/12", None], ["no", "030 12 34"]):
        assert {role(name, calls * N) for name in ("Telefon", "mobile")} == {"identifier"}
    for name, few in (
        ("mobile", ["y", "n"]),
        ("mobile", [0, 1]),
        ("nom_commune", ["A", "B"]),
        ("job_name", ["a", "b"]),
    ):
        assert role(name, few * N) == "quasi"


def test_a_code_of_no_answer_is_asked_about():
    columns = {"kids": [0, 1, 2, 3, 9] * 20, "rooms": [6, 7, 8, 9] * 25, "sex": [1, 9] * 50, "q": [1, 2, 3, 99] * 25}
    as_text = {name: [str(value) for value in values] for name, values in columns.items()}
    for table in (pa.table(columns), pa.table(as_text)):
        asked = [w for w in hr.inspect(table).warnings if "no answer" in w]
        assert len(asked) == 1  # also of sixty such columns
        assert asked[0].startswith("kids, q: ")


def test_kinds_are_given_where_the_type_does_not_tell():
    table = pa.table({"zip": [10115, 10117] * 20, "birth": ["2001-02-03", "1999-01-01"] * 20, "age": [1, 2] * 20})
    assert dict(hr.inspect(table).schema.kinds) == {"zip": "categorical", "birth": "date"}


def test_a_profile_counts_and_shows_no_value():
    table = pa.table({"job": ["secret", None, "secret", "hidden"], "age": [1, 2, None, None]})
    job, age = profile(table)
    assert (job.n_distinct, job.n_missing) == (2, 1)
    assert (age.kind, age.n_distinct, age.n_missing) == ("numeric", 2, 2)
    assert "secret" not in repr(profile(table))


def test_every_column_has_a_role_and_a_reason():
    people = datasets.make_people(500)
    schema = hr.inspect(people).schema
    assert schema.identifiers == ("person_id",)
    assert schema.sensitive == ("income", "assets", "diagnosis", "smoker")
    assert len(schema.quasi) == 12
    assert all(column.reason for column in profile(people))


def test_row_order_does_not_matter():
    people = datasets.make_people(300)
    order = np.random.default_rng(0).permutation(300)
    assert profile(people) == profile(people.take(pa.array(order)))


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("Diagnose", "sensitive"),
        ("Bruttojahresgehalt", "sensitive"),
        ("Gesundheit", "sensitive"),
        ("Vermögen", "sensitive"),
        ("Stundenlohn", "sensitive"),
        ("Religionszugehörigkeit", "sensitive"),
        ("salaire_net", "sensitive"),
        ("Diagnostic", "sensitive"),
        ("revenu", "sensitive"),
        ("Religión", "sensitive"),
        ("salario", "sensitive"),
        ("enfermedad", "sensitive"),
        ("Geburtsdatum", "quasi"),
        ("Straße", "quasi"),
        ("Staatsangehörigkeit", "quasi"),
        ("code postal", "quasi"),
        ("date_de_naissance", "quasi"),
        ("Ocupación", "quasi"),
        ("estado civil", "quasi"),
    ],
)
def test_names_in_four_languages_speak_for_a_role(name: str, role: str) -> None:
    values = [f"v{i % 5}" for i in range(50)]
    (found,) = profile(pa.table({name: values}))
    assert (found.role, "by its name" in found.reason) == (role, True)


def test_names_of_people_in_four_languages_are_left_out() -> None:
    for name in ("Nachname", "prénom", "Apellidos", "Telefonnummer", "surname"):
        (found,) = profile(pa.table({name: [f"v{i % 25}" for i in range(50)]}))
        assert found.role == "identifier", name


@pytest.mark.parametrize(
    ("name", "values", "says"),
    [
        ("Gewicht", [1.5, 2.5, 900.0] * 40, "is Gewicht a sampling weight"),
        ("WEIGHT", [12, 80, 300] * 40, "is WEIGHT a sampling weight"),
        ("Haushalt", [i // 3 for i in range(120)], "is Haushalt a number that people who live together share"),
        ("age_missing", [0, 0, 1] * 40, "age_missing tells by its name whether age is missing"),
        # what is no weight, no key and no flag is not asked about
        ("Gewicht", [0.5, 2.5, 900.0] * 40, None),
        ("Haushalt", [1, 2, 3, 4] * 30, None),
        ("agent_missing", [0, 0, 1] * 40, None),
    ],
)
def test_inspect_asks_what_words_leave_open(name: str, values: list[float], says: str | None) -> None:
    table = pa.table({"age": [i % 60 for i in range(120)], name: values, "income": [i * 7.5 for i in range(120)]})
    asked = [text for text in hr.inspect(table).warnings if text.endswith("--weight " + name) or " tell" in text
             or "--household " + name in text]  # fmt: skip
    assert [text.startswith(says) for text in asked] == [True] if says else asked == []


def test_a_label_is_asked_about_like_a_name() -> None:
    table = read(pa.table({"age": [i % 60 for i in range(120)], "W1": [1.5, 2.5, 900.0] * 40}))
    labels = FileLabels({"W1": VariableLabels(label="Weight of the case")})
    table.layout = replace(table.layout, labels=labels)
    seen = hr.inspect(table)
    assert any(text.startswith("is W1 a sampling weight") for text in seen.warnings)


def test_a_label_says_that_a_column_is_a_weight() -> None:
    table = read(pa.table({"age": [i % 60 for i in range(120)], "W1": [1.5, 2.5, 900.0] * 40}))
    labels = FileLabels({"W1": VariableLabels(label="design weight")})
    table.layout = replace(table.layout, labels=labels)
    assert hr.inspect(table).schema.weight == "W1"


def test_keys_of_households_and_sampling_weights_are_proposed() -> None:
    n = 400
    survey = pa.table(
        {
            "hh_id": np.arange(n) // 4,
            "age": np.arange(n) % 80,
            "region": np.arange(n) // 100,
            "sampling_weight": np.array([10.0, 20.0, 35.0, 80.0])[np.arange(n) // 100],
            "weight": np.arange(n) % 50 + 50,
        }
    )
    schema = hr.inspect(survey).schema
    assert (schema.household, schema.weight) == ("hh_id", "sampling_weight")
    assert schema.unit is hr.Schema().unit
    warned = " ".join(hr.inspect(survey).warnings)
    assert "hh_id repeats and is called a household" in warned
    assert "sampling_weight takes 4 values in 400 records" in warned
    assert "and with it region;" in warned
    # everybody weighs the same, or differently: no stratum is told
    for weights in (np.full(n, 10.0), np.arange(n) + 1.0):
        at = survey.column_names.index("sampling_weight")
        told = survey.set_column(at, "sampling_weight", pa.array(weights))
        assert "gives away" not in " ".join(hr.inspect(told).warnings)
    low = survey.set_column(at, "sampling_weight", pa.array(np.full(n, 0.5)))
    assert hr.inspect(low).schema.weight is None


def test_the_shape_of_a_column_is_counted() -> None:
    numbers = [*range(399), None, 1_000_000]  # one value beyond the 99% quantile ends up in the last part
    kinds = ["b"] * 240 + ["a"] * 120 + [None] * 41
    table = pa.table({"amount": numbers, "kind": kinds, "person_id": range(401)})
    amount, kind, person = (found.shape for found in profile(table))
    assert sum(amount) == 400
    assert max(amount) <= 56
    assert (kind, person) == ((240, 120), ())


def test_reasons_have_lines_of_their_own_where_the_table_leaves_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"age": [i % 60 for i in range(120)], "a_rather_long_name_of_it": [i * 7.5 for i in range(120)]})
    for columns, apart in ((80, True), (140, False)):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = str(hr.inspect(table)).splitlines()
        assert max(map(len, lines)) <= columns
        assert ("    a measurement with many distinct values" in lines) == apart


def test_a_second_weight_and_a_normed_one_are_left_out_of_the_proposal() -> None:
    n = 120
    table = {"age": [i % 60 for i in range(n)], "fnlwgt": [50.0 + i for i in range(n)]}
    both = hr.inspect(pa.table({**table, "household_weights": [1.0 + i for i in range(n)]}))
    assert (both.schema.weight, both.schema.other) == ("fnlwgt", ())
    assert any(text.startswith("household_weights is a second sampling weight") for text in both.warnings)
    normed = hr.inspect(pa.table({"age": table["age"], "designgewicht": [0.5 + i / n for i in range(n)]}))
    assert (normed.schema.weight, normed.schema.other) == (None, ())
    assert any("Multiply weights that were normed" in text for text in normed.warnings)
    shown = str(both)
    assert "fnlwgt             weight" in shown
    assert "household_weights  left out" in shown


@pytest.mark.parametrize(
    ("name", "label"), [("weight", ""), ("Gewicht", ""), ("poids", ""), ("v9", "Gewichtungsfaktor"), ("v9", "weight")]
)
def test_weights_that_were_normed_to_1_are_left_out(name, label) -> None:
    """They were sensitive amounts, and redrawn without a question."""
    normed = [0.4 + 1.2 * i / 119 for i in range(120)]
    for weights in (normed, [None, *normed[1:]], [f"{weight:.3f}" for weight in normed]):
        table = read(pa.table({"age": [i % 60 for i in range(120)], name: weights}))
        table.layout = replace(table.layout, labels=FileLabels({name: VariableLabels(label=label)}))
        seen = hr.inspect(table)
        assert (seen.schema.weight, seen.schema.role(name)) == (None, "undeclared")
        assert any(text.startswith(f"{name} is called a sampling weight") for text in seen.warnings)


@pytest.mark.parametrize("name", ["Gewicht_kg", "weight (kg)", "body weight", "birth_weight", "weight_lbs"])
def test_weights_of_bodies_are_not_asked_about(name) -> None:
    for kilograms in ([50.5 + i / 2 for i in range(120)], [0.4 + 1.2 * i / 119 for i in range(120)]):
        seen = hr.inspect(pa.table({"age": [i % 60 for i in range(120)], name: kilograms}))
        assert seen.schema.role(name) in ("sensitive", "quasi")
        assert not any("sampling weight" in text for text in seen.warnings)


def test_numbers_that_no_double_holds_are_no_normed_weights() -> None:
    assert role("weight", [2**60 + i for i in range(120)]) == "sensitive"


def test_what_tells_where_a_column_is_missing_follows_it_in_the_proposal() -> None:
    ages = [None if i % 9 == 0 else i % 60 for i in range(120)]
    reasons = ["refused" if age is None else None for age in ages]
    schema = hr.inspect(pa.table({"age": ages, "age_missing": reasons})).schema
    assert (schema.quasi, schema.other, schema.follows) == (("age", "age_missing"), (), {"age_missing": "age"})


OFFICE = ["31;1;4.5;2", "44;2;5.5;3", "52;1;6.5;4", "60;2;7.5;5"] * 20


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([*OFFICE, "Summe:;;999.0;"], "is the last record a total"),
        ([*OFFICE, ";;;", ";;;"], "2 records have no value in any column"),
        (["years;code;kg;scale", *OFFICE], "age, sex, hours, mood: all values but that of the first record"),
        (["999;1;4.5;2", *OFFICE], "age: are the values at the end"),
        (["31;1;4.5;-1", *OFFICE], "mood: are the values at the end"),
        (["998;9;4.5;2", "999;9;4.5;2", *OFFICE], "age: are the values at the end"),
        (OFFICE, None),
    ],
)
def test_inspect_and_protect_ask_about_rows_and_values_of_office_files(tmp_path, lines, says) -> None:
    file = tmp_path / "office.csv"
    file.write_text("\n".join(["age;sex;hours;mood", *lines]) + "\n")
    begins = ("is the last record", "2 records", "age", "mood")
    asked = [text for text in hr.inspect(file).warnings if text.startswith(begins)]
    assert [text.startswith(says) for text in asked] == [True] if says else asked == []
    if says and "values at the end" not in says:
        again = beforehand(read(file), hr.Schema(quasi=["age", "sex", "hours", "mood"]))
        assert [text.startswith(says) for text in again] == [True]


@pytest.mark.parametrize("ages", [["unknown", "1", "2", "unknown", "3"] * 5, ["partial", "none", "total"] * 9])
def test_a_word_that_stands_in_several_rows_is_no_header_and_no_total(ages) -> None:
    table = pa.table({"age": ages, "job": ["a", "b", "c"] * (len(ages) // 3) + ["a"] * (len(ages) % 3)})
    asked = hr.inspect(table).warnings
    assert not [text for text in asked if "second header" in text or "last record" in text]


def test_empty_rows_are_those_without_a_value_in_any_column(tmp_path) -> None:
    """Columns without a role count too, on every engine."""
    table = {"age": [31, None] * 30, "pay": [4.5, None] * 30, "region": ["n"] * 60}
    file, schema = tmp_path / "people.parquet", hr.Schema(quasi=["age"], sensitive=["pay"])
    pq.write_table(pa.table(table), file)
    streamed = select.opened(file, ("duckdb",), "testing", name="duckdb", schema=schema)
    assert not streamed.is_loaded
    assert beforehand(read(file), schema) == beforehand(streamed, schema) == []


def test_a_flag_of_an_identifier_follows_nothing() -> None:
    table = pa.table({"id": list(range(60)), "id_flag": [0, 1, 1] * 20, "age": [i % 9 for i in range(60)]})
    seen = hr.inspect(table)
    assert seen.schema.follows == {}
    assert "id_flag" in seen.schema.quasi
    assert not any("id_flag" in text for text in seen.warnings)


def described(**columns):
    """The columns of a table as inspecting describes them, by name."""
    return {c.name: c for c in profile(pa.table(columns))}


SECTORS = [11] * 30 + [21] * 40 + [31] * 35 + [12, 23, 24, 42, 61] * 3 + [53] * 20 + [72] * 20 + [93] * 15


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("sex", [1, 2] * 60, "categorical"),
        ("Geschlecht", [1, 2, 9] * 40, "categorical"),
        ("industry", [i % 50 for i in range(600)], "categorical"),
        ("x7", SECTORS, "categorical"),
        ("x7", [5 * value for value in SECTORS], "numeric"),  # heaped at multiples
        ("x7", [*SECTORS, 5], "numeric"),  # codes have one length
        ("number of industries", [1, 2] * 60, "numeric"),
        ("age", [18 + i % 60 for i in range(600)], "numeric"),
        ("age", [20 + (i * i) % 61 for i in range(600)], "numeric"),
        ("visits", [0] * 200 + [1] * 100 + [2] * 50 + [3] * 25 + [*range(4, 12), 20, 33, 47], "numeric"),
        ("hours", [40] * 300 + [35, 38, 45, 50] * 20 + list(range(10, 80)), "numeric"),
        ("year", [1990, 2000, 2010] * 40, "numeric"),
        ("kids", [0, 1, 2, 3, 9] * 30, "numeric"),
        ("sex", [1.5, 2.5] * 60, "numeric"),
    ],
)
def test_numbers_that_are_codes_are_proposed_as_categories(name, values, kind) -> None:
    """Industry, occupation and sex 1/2 were drawn like amounts, and joined with anything."""
    table = pa.table({name: values, "pay": [7 * i for i in range(len(values))]})
    seen = hr.inspect(table)
    assert seen.schema.kinds.get(name, "numeric") == kind
    told = [note for note in str(seen).split("\n\n") if note.startswith("Proposed as categories")]
    assert [name in note for note in told] == [True] * (kind == "categorical")


@pytest.mark.parametrize(
    "name",
    ["ISCO", "isco88", "NACE", "sic", "naics", "SOC2010", "icd", "industry", "Occupation", "Branche", "Beruf", "PLZ"],
)
def test_long_lists_of_codes_are_categories(name) -> None:
    """Of more than a hundred codes, three in ten released ones were no code of the list."""
    codes = [1111 + 7 * (i % 300) for i in range(900)]
    for values in (codes, [str(code) for code in codes]):
        (column,) = profile(pa.table({name: values}))
        assert (column.kind, column.role) == ("categorical", "sensitive" if name == "icd" else "quasi")
        table = read(pa.table({"v12": values}))
        table.layout = replace(table.layout, labels=FileLabels({"v12": VariableLabels(label=f"{name} of respondent")}))
        assert profile(table)[0].kind == "categorical"


@pytest.mark.parametrize(
    "name", ["income in main occupation", "years in occupation", "industry amount", "number of SOC"]
)
def test_amounts_and_counts_beside_codes_are_numbers(name) -> None:
    assert described(**{name: [1111 + 7 * (i % 300) for i in range(900)]})[name].kind == "numeric"


def test_digits_that_are_kept_as_text_beside_numbers_are_codes() -> None:
    texts = {"recode": [str(i % 3) for i in range(60)]}
    assert described(**texts, pay=[7 * i for i in range(60)])["recode"].kind == "categorical"
    # where all is text, numbers are text as well
    assert described(rooms=texts["recode"], pay=[str(7 * i) for i in range(60)])["rooms"].kind == "numeric"


@pytest.mark.parametrize(
    ("label", "values", "role", "kind"),
    [
        ("Person identifier", [5000 + i % 40 for i in range(N)], "identifier", "numeric"),
        ("Case number", [100 + 7 * i for i in range(N)], "identifier", "numeric"),
        ("Postcode of residence", [10115 + i % 9 for i in range(N)], "quasi", "categorical"),
        ("Main diagnosis", [f"E1{i % 4}" for i in range(N)], "sensitive", "categorical"),
        ("Net monthly income", [1000 + 7 * i for i in range(N)], "sensitive", "numeric"),
        ("", [1000 + i % 9 for i in range(N)], "quasi", "numeric"),
    ],
)
def test_labels_count_like_names(label, values, role, kind) -> None:
    table = read(pa.table({"v1": values}))
    table.layout = replace(table.layout, labels=FileLabels({"v1": VariableLabels(label=label)}))
    (column,) = profile(table)
    assert (column.role, column.kind) == (role, kind)
    assert ("by its label" in column.reason) == bool(label)


def test_labelled_codes_are_categories_though_some_have_no_label() -> None:
    values, labels = [1 + i % 6 for i in range(N)], {1: "good", 2: "fair", 3: "bad", 4: "worse"}
    table = read(pa.table({"q5": values, "q6": values}))
    variables = {"q5": VariableLabels(values=labels), "q6": VariableLabels(values={1: "never", 6: "always"})}
    table.layout = replace(table.layout, labels=FileLabels(variables))
    assert hr.inspect(table).schema.kinds == {"q5": "categorical"}


@pytest.mark.parametrize(
    "texts",
    [
        ["Frau M. has a penicillin allergy", "none", "none known"],
        ["called 0171 2345678, no answer", "none"],
        ["write to a.b@c.org please", "none"],
        ["moved out and has sold the house", "lives with his mother now", "none"],
    ],
)
def test_remarks_are_free_text_however_often_they_repeat(texts) -> None:
    """They were quasi-identifiers, and what ten people shared was released word for word."""
    table = pa.table({"info": [texts[i % len(texts)] for i in range(120)], "age": [i % 60 for i in range(120)]})
    seen = hr.inspect(table)
    assert (seen.schema.identifiers, seen.schema.unit) == (("info",), hr.Schema().unit)
    assert [w for w in beforehand(read(table), hr.Schema(quasi=["info"])) if "remarks that name or call" in w]


@pytest.mark.parametrize(
    "texts",
    [
        [
            "Masters degree(MA MS MEng MEd MSW MBA)",
            "Prof school degree (MD DDS DVM LLB JD)",
            "Some college but no degree",
        ],
        ["Child <18 never marr not in subfamily", "Foreign born- U S citizen by naturalization"],
        ["critical account/ other credits existing", "0 <= ... < 200 DM", "yes, under the customer's name"],
        ["Villeneuve la Garenne", "Las Palmas de Gran Canaria", "Frankfurt am Main"],
    ],
)
def test_labels_of_several_words_are_no_free_text(texts) -> None:
    assert role("kind", [texts[i % len(texts)] for i in range(120)]) == "quasi"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("contact", [f"555-{100 + i % 5}-4567" for i in range(400)]),
        ("mobile", [491761234567 + i % 5 for i in range(400)]),
    ],
)
def test_telephone_numbers_are_left_out_and_are_no_key_of_people(name, values) -> None:
    table = pa.table({name: values, "age": [i % 60 for i in range(400)]})
    schema = hr.inspect(table).schema
    assert (schema.identifiers, schema.unit) == ((name,), hr.Schema().unit)


def test_what_no_ten_records_share_is_left_out() -> None:
    """Nothing of such a column can be released; codes have parents, and numbers have neighbours."""
    n = 600
    columns = described(
        town=[f"Town {i % 150}" for i in range(n)],
        plz=[f"{10000 + i % 150}" for i in range(n)],
        icd=[f"C{i % 50:02}.{i % 3}" for i in range(n)],
        village=[f"Village {i % 50}" for i in range(n)],
        lat=[48 + i / 1000 for i in range(n)],
    )
    assert {name: column.role for name, column in columns.items()} == {
        "town": "undeclared", "plz": "quasi", "icd": "sensitive", "village": "quasi", "lat": "quasi",
    }  # fmt: skip
    assert "none of it can be released" in columns["town"].reason


def test_people_with_several_records_are_found_beside_a_unique_case_number() -> None:
    n = 240
    cases = {"case_no": list(range(5, 5 + n)), "age": [i % 60 for i in range(n)]}
    seen = hr.inspect(pa.table({**cases, "patient number": [i % 80 for i in range(n)]}))
    assert seen.schema.unit == "patient number"
    assert any(w.startswith("is one row one person? patient number repeats") for w in seen.warnings)
    assert any("--unit 'patient number'" in w for w in seen.warnings)
    # of a key that groups share nobody says that it is one of people
    for name, values in (("ward id", [i % 80 for i in range(n)]), ("patient id", list(range(n)))):
        seen = hr.inspect(pa.table({**cases, name: values}))
        assert seen.schema.unit is hr.Schema().unit
        assert any(w.startswith("is one row one person? Then say so (--unit none)") for w in seen.warnings)


@pytest.mark.parametrize(
    "name",
    [
        "PATID",
        "Versichertennummer",
        "Mitarbeiter-ID",
        "ssn",
        "PatNr",
        "Pat.-Nr.",
        "MRN",
        "subject",
        "KVNR",
        "Schülernummer",
        "numéro patient",
        "Número de paciente",
        "NHC",
        "Personal-Nr",
        "student no",
        "patient_uuid",
    ],
)
def test_keys_of_people_are_found_by_many_names(name) -> None:
    """Integers of such names were drawn as sensitive amounts, and a person's records counted as people."""
    n = 360
    ward, numbers = {"ward id": [i % 110 for i in range(n)]}, [1_000_001 + 37 * (i % 120) for i in range(n)]
    for keys, others in (
        (numbers, {**ward, "case_no": [5 + 3 * i for i in range(n)]}),
        ([f"A{key}" for key in numbers], ward),
        ([str(uuid.UUID(int=key)) for key in numbers], {}),
    ):
        schema = hr.inspect(pa.table({**others, name: keys, "pay": [i * 7.5 for i in range(n)]})).schema
        assert (schema.role(name), schema.unit) == ("identifier", name)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("email_domain", [f"d{i % 150}.org" for i in range(600)]),
        ("phone_type", [f"type {i % 150}" for i in range(600)]),
        ("subject", [f"subject {'abcdefghijklmno'[i % 15]}" for i in range(600)]),  # of a school
        ("patient", [0, 1] * 300),
    ],
)
def test_what_people_share_is_no_key_of_people(name, values) -> None:
    assert hr.inspect(pa.table({name: values, "pay": [i * 7.5 for i in range(600)]})).schema.unit is hr.Schema().unit


def test_capital_that_is_paid_up_is_no_key() -> None:
    assert role("PAID.UP.CAPITAL", [7 * i for i in range(300)]) == "sensitive"


def test_columns_of_money_are_amounts() -> None:
    euros = [f"{1 + i}.{i:03},{i % 100:02} EUR" for i in range(10, 99)]
    table = pa.table({"Gehalt": euros, "pay": [f"-${i},{500 + i}.50" for i in range(10, 99)]})
    found = profile(table)
    assert [(c.kind, c.role) for c in found] == [("numeric", "sensitive")] * 2
