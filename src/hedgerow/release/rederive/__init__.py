"""Recode a second time by independent code: derive the release from the original and the plan.

No code here is shared with the engines that made the release: rows go down a tree by their values
instead of their codes, maps are applied from their definition, and both work on batches of rows.
Each released cell is immediately compared with its original.
"""
