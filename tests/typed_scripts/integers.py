"""Integers stay integers until they are divided."""

import portmp as mp

n: mp.PlainArray = mp.plain_array([1, 2, 3])
doubled = n + n
halves: mp.Array = n / 2
more: mp.PlainArray = mp.add(n, doubled)
print(mp.bitwise_and(more, 1).tolist(), halves.format.name)
