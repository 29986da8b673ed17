"""Complex numbers: a product, a system, roots and a transform."""

import portmp as mp

z = mp.array(["1+2j", "3-1j"], "cdd")
turned: mp.Array = mp.multiply(mp.exp(z), 1 - 2j)
size: mp.Array = abs(turned)
x = mp.linalg.solve(mp.array([[2, 1j], [-1j, 3]], "cdd"), z)
line = mp.linspace(0, 2 + 1j, 3, "cdd", "host:0")
print(float(size.sum()), x.to_strings(5), line.shape, mp.fft.fft(z).to_strings(5))
print(mp.roots(mp.array([1, 0, 1], "dd")).tolist())
