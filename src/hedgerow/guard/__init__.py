"""Hide exact values: tell each as a run of values, or draw all anew inside each group.

    table ── code.py ──> codes: which value, or run of values (runs.py), each cell has
                           │
               ┌───────────┴─ "redraw" ─────────────────────────┐
             "runs"                                             │
               │    rule.py ──> how each group's values are drawn: its shares, smoothed
               │                towards what its features let expect (features.py, logit.py),
               │                or the table's runs, tilted to its mean (moments.py), or both:
               │                shares of what many people have, and tilted runs of the rest
               │                  │
               │    draw.py ──> values of each group, until they keep the promises,
               │                in an order with the table's correlations
               │                  │
               │    swap.py ──> the same, with the products of features as in the table
               │                and no pair that nobody has: where rows are drawn
               │                  │
               │    pieces.py ──> a number of its own for each drawn run
               │                  │
               │    file_cap.py ──> the same in other rows of a group, until the file keeps a cap;
               │                    else draw.py once more: where the cap is on the file
               │                  │
               └─── rows.py ──────┴──> the released rows, in the table's types

`guarding.py` goes these steps; what they hand on is in the docstrings of `CodedColumn`, `FittedGuard` and `RarePairs`.
"""
