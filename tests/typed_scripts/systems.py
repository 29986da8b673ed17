"""A system of equations, its residual, and what the digits of the solution are worth."""

import portmp as mp


def residual(a: mp.Array, x: mp.Array, b: mp.Array) -> mp.Array:
    found: mp.Array = a @ x - b
    return mp.abs(found)


a = mp.array([["2", "1"], ["1", "3"]], "dd")
b = mp.array([1, 2], "dd")
print(residual(a, mp.linalg.solve(a, b), b).to_float64())
