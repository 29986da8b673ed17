"""A histogram by atomics: blocks count in their own memory, then add to the array once a bin."""

import numpy as np

import portmp as mp

BINS, BLOCKS = 256, 2048

histogram = mp.Kernel(
    """
    ${kernel()}
    {
        ${shared(int32, "held", bins)}
        for (int bin = ${thread_id()}; bin < ${bins}; bin += ${block_size()})
            held[bin] = 0;
        ${barrier()}
        for (${index} i = ${global_id()}; i < n; i += ${global_size()})
            ${atomic("add", "held", load("k", "i"), 1)};
        ${barrier()}
        for (int bin = ${thread_id()}; bin < ${bins}; bin += ${block_size()})
            ${atomic("add", "count", "bin", "held[bin]")};
    }
    """,
    f"histogram(k: in int32 [n], count: inout int32 [{BINS}])",
    grid=lambda n, bins, blocks: min(-(-n // bins), blocks),
    bins=BINS,
    blocks=BLOCKS,
)


def main(device: str | None = None) -> tuple[mp.PlainArray, mp.PlainArray]:
    """Sums of four dice with 64 sides, numbered from 0, and how often each comes."""
    dice = np.random.default_rng(1).integers(0, 64, (20_000, 4))
    k = mp.plain_array(dice.sum(axis=1), "int32", device)
    count = mp.plain_zeros(BINS, "int32", device)
    histogram(k=k, count=count)
    return k, count


if __name__ == "__main__":
    for first, number in enumerate(main()[1].to_numpy().reshape(-1, 16).sum(axis=1)):
        print(f"{16 * first:3} to {16 * first + 15:3}: {'#' * (number // 60)} {number}")
