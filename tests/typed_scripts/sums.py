"""A sum that float64 loses."""

import portmp as mp

x = mp.array(["1e30", "1", "-1e30"], "qd")
total: mp.Array = mp.add(x, 0)
print(total.to_strings(10), float(mp.sqrt(x[1])))
