"""Random numbers that are the same everywhere: pi by counting points in a quarter of a circle.

Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011) makes four integers of 32 bits from a counter and a
key. No thread has a state: how the work is cut among threads changes nothing.
"""

import portmp as mp

POINTS = 2**18

module = mp.Module(
    """
    <%def name="philox()">
        for (int round = 0; round < 10; ++round) {
            const ${uint64} p = (${uint64})c0 * 0xD2511F53u, q = (${uint64})c2 * 0xCD9E8D57u;
            c0 = (${uint32})(q >> 32) ^ c1 ^ k0;
            c1 = (${uint32})q;
            c2 = (${uint32})(p >> 32) ^ c3 ^ k1;
            c3 = (${uint32})p;
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
    </%def>

    ${kernel("draw")}
    {
        const ${index} i = ${global_id()};
        if (i < n) {
    % for w in range(4):
            ${uint32} c${w} = ${load("counter", "i", w)};
    % endfor
            ${uint32} k0 = ${load("key", "i", 0)}, k1 = ${load("key", "i", 1)};
            ${philox()}
    % for w in range(4):
            ${store("number", "i", w, f"c{w}")}
    % endfor
        }
    }

    ${kernel("inside")}
    {
        ${int64} count = 0;
        for (${index} i = ${global_id()}; 2 * i < points; i += ${global_size()}) {
            ${uint32} c0 = (${uint32})i, c1 = (${uint32})(i >> 32), c2 = 0, c3 = 0;
            ${uint32} k0 = (${uint32})seed, k1 = (${uint32})(seed >> 32);
            ${philox()}
    % for x, y in (("c0", "c1"), ("c2", "c3")):
            {
                const ${uint64} x = ${x} >> 1, y = ${y} >> 1;
                count += x * x + y * y < (${uint64})1 << 62;
            }
    % endfor
        }
        count = ${warp_reduce("add", "count", int64)};
        if (${lane()} == 0) {
            ${store("counts", f"{global_id()} / 32", "count")}
        }
    }
    """
)
draw = module.kernel(
    "draw(counter: in uint32 [n, 4], key: in uint32 [n, 2], number: out uint32 [n, 4])", threads="n"
)
inside = module.kernel(
    "inside(points: int64, seed: uint64, counts: out int64 [8 * blocks])", grid="blocks"
)


def main(device: str | None = None, blocks: int = 16) -> mp.PlainArray:
    """How many points each warp finds inside."""
    return inside(points=POINTS, seed=2011, blocks=blocks, device=device)


if __name__ == "__main__":
    print("pi is about", 4 * int(main().to_numpy().sum()) / POINTS)
