"""How sources lie in memory and come to the threads that a gravity kernel's blocks consist of.

Index text and types for the kernel's templates.
"""

from dataclasses import dataclass
from functools import cached_property

from portmp.codegen.elements import plus, times
from portmp.codegen.writer import Writer
from portmp.routines.gravity.schedule import NbodySchedule

_FIELDS = {1: ("x", "y", "z", "w"), 2: ("a.x", "a.y", "b.x", "b.y"), 4: ("x", "y", "z", "m")}
"""By the pieces of a source, what its coordinates and its mass are called in them."""


@dataclass(frozen=True, eq=False)
class Sources:
    """The sources as a kernel reads them: in pieces of 16 bytes, by a team of threads."""

    w: Writer
    v: Writer
    schedule: NbodySchedule

    @property
    def _warp(self) -> int:
        return self.w.traits.warp_size

    @cached_property
    def types(self) -> tuple[str, ...]:
        """What a piece of each limb is: a vector of 16 bytes, or, where there are none, a word."""
        known = {"float32": "float", "float64": "double"}
        if self.w.memory_vectors:
            known = {"float32": "float4", "float64": "double2"}
        return tuple(known[plane] for plane in self.w.format.planes)

    @cached_property
    def pieces(self) -> tuple[int, ...]:
        """Pieces of a source by limb: x y z m; x y and z m; or one by one."""
        if not self.w.memory_vectors:
            return (4,) * len(self.w.format.planes)
        return tuple(1 if plane == "float32" else 2 for plane in self.w.format.planes)

    @property
    def team(self) -> int:
        """Threads that fetch a tile together."""
        return {0: 1, 1: self.schedule.threads, 2: self._warp}[self.schedule.shared]

    @property
    def member(self) -> str:
        """Which of them a thread is."""
        return {0: "0", 1: "thread", 2: f"thread % {self._warp}"}[self.schedule.shared]

    @property
    def sync(self) -> str:
        """What they wait for each other by."""
        p = self.w.platform
        return {0: "", 1: p.barrier, 2: p.warp_barrier}[self.schedule.shared]

    @property
    def room(self) -> int:
        """Sources of all tiles of a stage."""
        s = self.schedule
        return s.tile * (s.threads // self.team if s.shared else 1)

    @property
    def own(self) -> str:
        """Where the tile of a thread's warp begins among those of its block; empty: at 0."""
        return f"thread / {self._warp} * {self.schedule.tile}" if self.schedule.shared == 2 else ""

    def begin(self, i: int) -> str:
        """The same in pieces of a limb, to add to."""
        return f"base * {self.pieces[i]} + " if self.own else ""

    def held(self, i: int) -> int:
        """Pieces of a limb of a tile that a thread fetches."""
        return self.schedule.tile * self.pieces[i] // self.team

    def place(self, i: int, e: int) -> tuple[str, str]:
        """Where source jj + *e* is: the array of its limb, and its number there."""
        s, at = self.schedule, plus("jj", e)
        if not s.shared:
            return f"bodies{i}", f"j0 + {at}"
        stage = f"now * {self.room} + " if s.stages == 2 else ""
        return f"tile{i}", stage + ("base + " if self.own else "") + at

    def read(self, i: int, e: int) -> str:
        """The statement that reads limb *i* of source jj + *e* into s<i>_<e>."""
        (array, at), name = self.place(i, e), f"s{i}_{e}"
        count = self.pieces[i]
        parts = {1: ("",), 2: ("a", "b"), 4: _FIELDS[4]}[count]
        first = at if count == 1 else f"{count} * ({at})"
        # Words by themselves are numbered from 0, vectors count from the first one.
        offset = [f" + {k}" if k or count == 4 else "" for k in range(count)]
        places = [f"{array}[{first}{k}]" for k in offset]
        reads = [f"{name}{part} = {place}" for part, place in zip(parts, places, strict=True)]
        return f"const {self.types[i]} {', '.join(reads)};"

    def field(self, name: str, e: int) -> str:
        """A coordinate (x, y, z) or the mass (m) of source jj + *e*, in every lane."""
        w, form = self.w, self.w.format
        words = []
        for i in w.limbs:
            member = _FIELDS[self.pieces[i]]["xyzm".index(name)]
            text = f"s{i}_{e}{'.' if self.pieces[i] == 1 else ''}{member}"
            same = form.planes[i] == form.word
            words.append(w.splat(text if same else f"({self.v.word}){text}"))
        return w.pack(words)


@dataclass(frozen=True)
class Layout:
    """How a kernel goes over targets and sources, once its dialect is known."""

    schedule: NbodySchedule
    wanted: tuple[str, ...]
    distinct: bool

    times = staticmethod(times)

    @property
    def sums(self) -> tuple[str, ...]:
        """What is summed for a target, in the order of a slab's parts."""
        known = {"acceleration": ("ax", "ay", "az"), "potential": ("phi",)}
        return tuple(q for kind, names in known.items() if kind in self.wanted for q in names)

    @property
    def block(self) -> int:
        """Targets of a block."""
        s = self.schedule
        return s.threads * s.targets * s.width

    def sources(self, w: Writer, v: Writer) -> Sources:
        """How vectors and scalars of targets read them."""
        return Sources(w, v, self.schedule)

    def target(self, first: str, u: str, lane: int) -> str:
        """The place of a thread's target *u* and a lane, from that of its *first* one."""
        return plus(f"{first} + " + times(u, self.schedule.threads * self.schedule.width), lane)

    def _apart(self, u: int) -> str:
        """Whether no lane of target *u* is in the tile."""
        s = self.schedule
        last = plus("mine", u * s.threads * s.width + s.width - 1)
        return f"(unsigned)({last}) >= {s.tile + s.width - 1}u"

    def untested(self, limbs: int) -> tuple[tuple[str, int], ...]:
        """When a tile needs no test for a target's own term, and how often its loop is written out.

        None of the block's targets is in it (the same for all threads, which compilers use), or
        none of the thread's. That second loop is seldom run, but its registers count for both: it
        is written out less.
        """
        s = self.schedule
        full, unroll = f"count == {s.tile}", s.unroll // s.ilp
        if not self.distinct:
            return ((full, unroll),)
        own = " && ".join([full, *map(self._apart, range(s.targets))])
        if limbs > 1:
            return ((own, unroll),)
        away = f"(next <= block + self || j0 >= block + self + {self.block})"
        return ((f"{full} && {away}", unroll), (own, max(unroll // 4, min(unroll, 4))))
