"""Newton's method, written once for any format."""

import portmp as mp


def root(c: mp.Array, steps: int = 6) -> mp.Array:
    x = mp.sqrt(c)
    for _ in range(steps):
        x = x - (x * x - c) / (2 * x)
    return x


print(root(mp.array([2, 3], "qd")).to_strings(40))
