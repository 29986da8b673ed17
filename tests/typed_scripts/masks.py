"""Truth values choose elements."""

import portmp as mp

x = mp.array([1, -2, 3], "dd")
negative: mp.PlainArray = mp.less(x, 0)
either = mp.logical_or(negative, mp.isnan(x))
print(x[~either].tolist(), negative.dtype)
