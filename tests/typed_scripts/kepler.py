"""A planet on its orbit, in place."""

import portmp as mp


def step(x: mp.Array, v: mp.Array, dt: str) -> None:
    away = mp.hypot(x[0], x[1])
    v -= dt * x / (away * away * away)
    x += dt * v


x, v = mp.array([1, 0], "dd"), mp.array([0, 1], "dd")
step(x, v, "0.01")
print(x.to_strings(20))
