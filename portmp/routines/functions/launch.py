"""Elementary functions, out[i] = f(x[i], y[i]).

Definition: the function's network for the format's word and number of limbs
(``portmp.networks.functions``). Launches are those of elementwise operators.
"""

from portmp.routines.elementwise.launch import apply, kernel_spec

__all__ = ["apply", "kernel_spec"]
