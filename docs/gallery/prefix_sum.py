"""Prefix sums in double-double by shuffles: lanes of a warp, warps of a block, blocks of the grid.

The order of the additions is fixed by the text, so that all devices give the same bits.
"""

import portmp as mp

BLOCK = 256

module = mp.Module(
    """
    ${kernel("within")}
    {
        ${shared(value, "warps", block_size() // 32)}
        const ${index} i = ${global_id()};
        ${value} sum = ${number(0)};
        if (i < n)
            sum = ${load("x", "i")};
        sum = ${warp_scan("add", "sum")};
        if (${lane()} == 31)
            warps[${warp()}] = sum;
        ${barrier()}
        ${value} before = ${number(0)};
        for (int w = 0; w < ${warp()}; ++w)
            before = ${add("before", "warps[w]")};
        sum = ${add("before", "sum")};
        if (i < n) {
            ${store("y", "i", "sum")}
        }
        if (${thread_id()} == ${block_size() - 1}) {
            ${store("totals", block_id(), "sum")}
        }
    }

    ${kernel("onward")}
    {
        const ${index} i = ${global_id()};
        if (i < n && ${block_id()} > 0) {
            const ${value} sum = ${add(load("before", f"{block_id()} - 1"), load("y", "i"))};
            ${store("y", "i", "sum")}
        }
    }
    """
)
within = module.kernel(
    "within(x: in [n], y: out [n], totals: out [blocks])", grid="blocks", block=BLOCK
)
onward = module.kernel("onward(before: in [blocks], y: inout [n])", grid="blocks", block=BLOCK)


def prefix_sum(x: mp.Array) -> mp.Array:
    """y[i] = x[0] + ... + x[i]."""
    y, totals = within(x=x, blocks=-(-x.size // BLOCK))
    if totals.size > 1:
        onward(before=prefix_sum(totals), y=y)
    return y


def main(device: str | None = None) -> mp.Array:
    """Of tenths, which no binary format holds exactly."""
    return prefix_sum(mp.array(["0.1"] * 1000, "dd", device))


if __name__ == "__main__":
    print(main()[999].to_strings())
