from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hedgerow.kernels.siphash import draw, siphash_words

KEY = (0x0706050403020100, 0x0F0E0D0C0B0A0908)


def test_published_vector():
    """SipHash-2-4 of the message 00, 01, ..., 07 under the key 00..0f."""
    word = np.frombuffer(bytes(range(8)), "<u8").astype(np.uint64)
    assert int(siphash_words(word, *map(np.uint64, KEY))[0]) == 0x93F5F5799A932462


def by_definition(codes, ids, key, p, d):
    out = []
    hashes = siphash_words(ids, np.uint64(key[0]), np.uint64(key[1]))
    for code, h in zip(codes.tolist(), hashes.tolist(), strict=True):
        u = (h >> 11) / 2**53
        if code >= d:
            out.append(min(int(u * d), d - 1))
        elif u < p:
            out.append(code)
        else:
            others = [v for v in range(d) if v != code]
            out.append(others[min(int((u - p) / (1 - p) * (d - 1)), d - 2)])
    return out


@pytest.mark.parametrize("d", [2, 3, 7])
@pytest.mark.parametrize("p", [0.5, 0.8, 1.0])
def test_kernel_equals_the_definition(d, p):
    rng = np.random.default_rng(d)
    codes = rng.integers(0, d + 1, 500).astype(np.uint8)
    ids = rng.integers(0, 2**63, 500).astype(np.uint64)
    assert draw(codes, ids, KEY, p, d).tolist() == by_definition(codes, ids, KEY, p, d)


@pytest.mark.parametrize(("p", "d"), [(0.3, 5), (0.9, 3), (0.26, 4)])
def test_chi_square_of_the_draws(p, d):
    n = 200_000
    ids = np.arange(n, dtype=np.uint64)
    for code in range(d):
        out = draw(np.full(n, code, np.uint8), ids + np.uint64(code * n), KEY, p, d)
        expected = np.full(d, (1 - p) / (d - 1))
        expected[code] = p
        assert stats.chisquare(np.bincount(out, minlength=d), expected * n).pvalue > 1e-4


def test_an_unknown_value_becomes_any_category_alike():
    n = 100_000
    out = draw(np.full(n, 9, np.uint8), np.arange(n, dtype=np.uint64), KEY, 0.9, 4)
    assert stats.chisquare(np.bincount(out, minlength=4)).pvalue > 1e-4


def test_order_and_partition_do_not_matter_and_the_key_does():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 6, 1000).astype(np.uint16)
    ids = np.arange(1000, dtype=np.uint64)
    whole = draw(codes, ids, KEY, 0.4, 6)
    order = rng.permutation(1000)
    assert np.array_equal(draw(codes[order], ids[order], KEY, 0.4, 6), whole[order])
    halves = [draw(codes[part], ids[part], KEY, 0.4, 6) for part in (slice(0, 400), slice(400, None))]
    assert np.array_equal(np.concatenate(halves), whole)
    other = draw(codes, ids, (KEY[0] + 1, KEY[1]), 0.4, 6)
    assert (other != whole).mean() > 0.3
