"""Five mistakes, each of which a type checker tells."""

import portmp as mp

x = mp.array([1, 2], "dd")
y = mp.exp(x, x, x)
z: mp.PlainArray = mp.sqrt(x)
print(x.to_string(3))
mp.sin({"a": 1})
flipped: mp.PlainArray = mp.flip(x)
