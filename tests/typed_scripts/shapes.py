"""Functions by shape and methods keep the kind of array; new arrays are of what is named."""

import portmp as mp

x: mp.Array = mp.full(3, "0.5", "dd") + mp.full((), 2, "dd")
n: mp.PlainArray = mp.full(3, 7)
i: mp.PlainArray = mp.arange(4)
e: mp.Array = mp.identity(2, "qd")
row: mp.Array = mp.roll(mp.reshape(x, (1, 3)), 1).ravel()
back: mp.PlainArray = mp.flip(mp.tile(i, 2)).squeeze()
lower: mp.Array = mp.tril(mp.swapaxes(e, 0, 1)).take([0], axis=0)
level: mp.Array = x.mean() + x.std() + x.max()
place: mp.PlainArray = x.argmax()
there: mp.PlainArray = mp.isin(i, n)
power: mp.Array = mp.power(x, 2) + mp.copysign(x, -1)
order: mp.Array = mp.sort(mp.square(x))
print(row.to_strings(3), back.tolist(), lower.shape, level.to_strings(3), place.tolist())
print(there.tolist(), power.format.name, order.shape, n.dtype)
