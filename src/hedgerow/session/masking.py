"""The options of the masking methods."""

from __future__ import annotations

from .options import Option

OPTIONS = (
    Option("block_size", int, "porop, lirop: values a block; searched by default."),
    Option("degree", int, "porop: degree of the polynomials; searched by default."),
    Option("noise", str, "porop, lirop: synthetic or perturbative."),
    Option("correlated", bool, "noise: with the covariance of the data."),
    Option(
        "random_state",
        int,
        "For experiments: draw from this number, which hides nothing; otherwise from --key-file.",
    ),
    Option("clip", bool, "Move masked numbers back into the extent of their column."),
    Option("integers", bool, "Round columns of integers to integers."),
    Option("grouping", str, "microaggregation: mdav, v-mdav or individual_ranking."),
    Option("distance", str, "microaggregation: auto, euclidean or gower."),
    Option("gain", float, "microaggregation: V-MDAV's gain factor."),
    Option("scale", float, "noise: its deviation over that of the column."),
    Option("proportion", float, "rank-swapping: reach as a share of the ranks, in (0, 1]."),
    Option("stay", float, "pram: probability of keeping a category, 0 to 1."),
    Option("invariant", bool, "pram: keep the expected counts of the categories."),
    Option("top", float, "top-bottom: code values above."),
    Option("bottom", float, "top-bottom: code values below."),
    Option("top_share", float, "top-bottom: share of the largest values to code."),
    Option("bottom_share", float, "top-bottom: share of the smallest values to code."),
    Option("replace", str, "top-bottom: threshold or mean."),
)
