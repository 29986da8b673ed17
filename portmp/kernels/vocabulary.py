"""The words that a kernel's template is written with, and what they say on each platform.

``Words`` spells one module for one platform. A word returns text of C; what it needs beside (types,
arithmetic, functions) is collected and stands before the kernels. docs/kernels.md explains each.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from portmp.arrays.plain import DTYPES
from portmp.codegen import render
from portmp.codegen.render import RenderedSource
from portmp.kernels.words.arithmetic import FUNCTIONS, OPERATORS
from portmp.kernels.words.atomics import Atomics
from portmp.kernels.words.bits import Bits
from portmp.kernels.words.complexes import OWN, Complexes
from portmp.kernels.words.tools import Tools
from portmp.kernels.words.warps import Warps

VERSION = 1
"""Of the vocabulary: words keep their meaning within a version; new ones may come."""


class Words(Warps, Atomics, Bits, Tools):
    """The vocabulary of a module."""

    def context(self) -> dict[str, Any]:
        """All words by name, as templates see them."""
        own = self.of(self.form.name)
        types = {name: self.type(name) for name in DTYPES if name != "bool"}
        return {
            **{word: partial(own.operator, word) for word in (*OPERATORS, *FUNCTIONS)},
            **types,
            "index": self.index,
            "value": own.value,
            "real": own.real,
            "number": own.number,
            "from_real": own.from_real,
            "limb": own.limb,
            **({word: getattr(own, word) for word in OWN} if self.form.components > 1 else {}),
            "warp_size": self.traits.warp_size,
            **{name: getattr(self, name) for name in WORDS},
        }

    def prelude(self) -> RenderedSource:
        """What the module's kernels need before them."""
        context = {
            "arithmetics": [(a.writer, a.networks) for a in self._arithmetic.values()],
            "mixed": [
                one
                for a in self._arithmetic.values()
                if isinstance(a, Complexes)
                for functions in a.mixed.values()
                for one in functions
            ],
            "words": self,
            "p": self.platform,
        }
        text = render.render("/kernels/prelude.mako", context)
        return render.joined(render.opening(self.platform.prologue), text)


WORDS: Sequence[str] = (
    *("of", "type", "type_of", "kernel"),
    *("thread_id", "block_id", "block_size", "grid_size", "global_id", "global_size", "linear_id"),
    *("barrier", "fence", "shared", "constant", "at", "load", "store"),
    *("vector", "load_vector", "store_vector", "atomic"),
    *("popcount", "leading_zeros", "permute_bytes", "dot4"),
    *("lane", "warp", "shuffle", "shuffle_up", "shuffle_down", "shuffle_xor"),
    *("warp_reduce", "warp_scan", "ballot", "warp_any", "warp_all"),
    *("approximate", "clock", "printf", "require"),
)
"""Words that are methods of ``Words``."""
