"""Fetch the public files that the experiments need from their provider, the UCI repository."""

from __future__ import annotations

import gzip
import io
import re
import urllib.request

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from hedgerow.datasets import URLS, folders
from hedgerow.errors import InputError

# in the order of the raw files; a star marks the columns of whole numbers
HEADERS = {
    "adult": """
age* workclass fnlwgt* education education-num* marital-status occupation relationship race sex
capital-gain* capital-loss* hours-per-week* native-country income""",
    "german": """
status_checking_account duration_months* credit_history purpose credit_amount* savings_account_bonds
employment_since installment_rate_pct* personal_status_sex other_debtors residence_since* property age*
other_installment_plans housing n_existing_credits* job n_dependents* telephone foreign_worker class*""",
    "census": """
age* class_of_worker detailed_industry_recode detailed_occupation_recode education wage_per_hour*
enroll_in_edu_inst_last_wk marital_stat major_industry_code major_occupation_code race hispanic_origin sex
member_of_a_labor_union reason_for_unemployment full_or_part_time_employment_stat capital_gains*
capital_losses* dividends_from_stocks* tax_filer_stat region_of_previous_residence
state_of_previous_residence detailed_household_and_family_stat detailed_household_summary_in_household
instance_weight migration_code_change_in_msa migration_code_change_in_reg migration_code_move_within_reg
live_in_this_house_1_year_ago migration_prev_res_in_sunbelt num_persons_worked_for_employer*
family_members_under_18 country_of_birth_father country_of_birth_mother country_of_birth_self citizenship
own_business_or_self_employed fill_inc_questionnaire_for_veterans_admin veterans_benefits
weeks_worked_in_year* year income""",
}


def fetch_missing() -> None:
    """Fetch every file that no folder of data has yet, into the cache folder."""
    for name, url in URLS.items():
        if any((folder / name).is_file() for folder in folders()):
            continue
        target = folders()[-1] / name
        table = _parse(name, _fetch(url))
        target.parent.mkdir(parents=True, exist_ok=True)
        # another process may load it at the same time
        part = target.with_suffix(".part")
        pq.write_table(table, part)
        part.replace(target)


def _fetch(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            data: bytes = answer.read()
    except OSError as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        raise InputError(
            f"cannot fetch {url}: {reason}",
            hint="check the network, or put the file into the folder that HEDGEROW_DATA names",
        ) from None
    return gzip.decompress(data) if url.endswith(".gz") else data


def _parse(name: str, data: bytes) -> pa.Table:
    """Parse a provider's raw UCI file into the table that the Parquet file of that name holds."""
    columns = HEADERS[name.split("_")[0]].split()
    kinds = {c.rstrip("*"): pa.int32() if c.endswith("*") else pa.string() for c in columns}
    if "instance_weight" in kinds:
        kinds["instance_weight"] = pa.float64()
    separator = rb" +" if name.startswith("german") else rb" *, *"
    # the test labels of Adult end with a full stop that the train labels do not have
    data = re.sub(separator, b",", data).replace(b"K.\n", b"K\n")
    lines = (line.strip() for line in data.splitlines() if not line.startswith(b"|"))
    try:
        return csv.read_csv(
            io.BytesIO(b"\n".join(lines)),
            csv.ReadOptions(column_names=list(kinds), encoding="latin-1"),
            convert_options=csv.ConvertOptions(column_types=kinds, null_values=["?"], strings_can_be_null=True),
        )
    except pa.ArrowInvalid:
        raise InputError(f"the provider's file for {name} is not as expected") from None
