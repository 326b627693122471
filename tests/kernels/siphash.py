"""SipHash-2-4 of 128 bits in plain Python, by the words of its authors."""

from __future__ import annotations

MASK = (1 << 64) - 1


def siphash_128(message: bytes, key: bytes) -> int:
    """The hash as a number, the low word first."""
    k0, k1 = (int.from_bytes(key[i : i + 8], "little") for i in (0, 8))
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D ^ 0xEE, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def turn(x: int, bits: int) -> int:
        return ((x << bits) | (x >> (64 - bits))) & MASK

    def rounds(n: int) -> None:
        for _ in range(n):
            v[0] = (v[0] + v[1]) & MASK
            v[1] = turn(v[1], 13) ^ v[0]
            v[0] = turn(v[0], 32)
            v[2] = (v[2] + v[3]) & MASK
            v[3] = turn(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & MASK
            v[3] = turn(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & MASK
            v[1] = turn(v[1], 17) ^ v[2]
            v[2] = turn(v[2], 32)

    whole = len(message) // 8 * 8
    last = message[whole:] + bytes(7 - len(message) % 8) + bytes([len(message) & 0xFF])
    for at in range(0, whole + 8, 8):
        block = message[at : at + 8] if at < whole else last
        m = int.from_bytes(block, "little")
        v[3] ^= m
        rounds(2)
        v[0] ^= m
    v[2] ^= 0xEE
    rounds(4)
    low = v[0] ^ v[1] ^ v[2] ^ v[3]
    v[1] ^= 0xDD
    rounds(4)
    return low | (v[0] ^ v[1] ^ v[2] ^ v[3]) << 64
