"""Reductions and new arrays keep what they are of."""

import portmp as mp

x: mp.Array = mp.zeros((2, 3), "qd") + mp.linspace(0, 1, 3, "qd")
total: mp.Array = mp.sum(x, axis=1)
value, bound = mp.sum(x, bound=True)
n: mp.PlainArray = mp.zeros(3, "int64")
most: mp.PlainArray = mp.max(n)
place: mp.PlainArray = mp.argmax(x)
level: mp.Array = mp.mean(n, dtype="qd") + mp.std(x)
same: mp.PlainArray = mp.ones_like(n)
print(total.to_strings(5), value.format.name, bound.format.name, most.tolist(), place.dtype)
print(level.format.name, same.tolist(), bool(mp.all(mp.eye(2) == mp.eye(2))))
