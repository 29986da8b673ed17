"""Elementary functions of arrays, with a result in memory that is there."""

import portmp as mp


def damped(t: mp.Array, rate: str) -> mp.Array:
    return mp.exp(-t * rate) * mp.sin(t)


t = mp.array(["0.1", "0.2"], "td")
there = mp.zeros(2, "td")
mp.cos(t, out=there)
print(damped(t, "0.5").to_strings(), there.shape)
