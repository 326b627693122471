"""
Auditing a synthetic table
==========================

Somebody hands you synthetic people and says that nobody stands behind them. Rows cannot be paired;
attacks on people in the table, beside the same attacks on people who took no part, show whether
anything was taken from members.
"""

import matplotlib.pyplot as plt
import pyarrow as pa

import hedgerow as hr

members = hr.datasets.make_people(1_000, seed=3)
others = hr.datasets.make_people(1_000, seed=4)  # held back: they took no part
drawn = hr.datasets.make_people(1_000, seed=5)  # nobody's rows
schema = hr.Schema(quasi=["age", "education", "job"], sensitive=["income", "diagnosis"])

# %%
# Two files: one that is nobody's, and one in which every fifth row is a member's own.

files = {"nobody's rows": drawn, "a fifth copied": pa.concat_tables([drawn.slice(0, 800), members.slice(0, 200)])}
found = {
    name: hr.audit(members, file, schema, paired=False, control=others, people=300, learning=False)
    for name, file in files.items()
}

# %%
# Every attack's success on members beyond its success on strangers, with its 95% interval. An
# interval that holds 0 shows nothing taken by that attack. By chance one interval in twenty misses 0,
# and attacks that learn from the same rows miss it together: believe what several kinds of attack
# show, or one by far.

figure, panels = plt.subplots(1, 2, figsize=(9, 4.6), sharey=True, sharex=True, layout="constrained")
for axes, (name, audit) in zip(panels, found.items(), strict=True):
    told = [a for a in audit.attacks if a["over_control_interval"]]
    for at, attack in enumerate(told):
        low, high = attack["over_control_interval"]
        axes.plot([low, high], [at, at], color="C0" if low <= 0 else "C3")
        axes.plot(attack["over_control"], at, "o", color="C0" if low <= 0 else "C3")
    axes.axvline(0, color="0.5", linewidth=0.8)
    axes.set_title(name)
    axes.set_xlabel("success beyond the control")
axes.set_yticks(
    range(len(told)), [" ".join(filter(None, (a["attack"], a["learner"], a["target"]))) for a in told], fontsize=8
)
axes.invert_yaxis()
