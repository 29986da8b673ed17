"""The stream that a generator draws from: its key, and how far it has come."""

from __future__ import annotations

import copy
import operator
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from portmp.arrays import creation
from portmp.arrays.creation import Where
from portmp.arrays.plain import PlainArray
from portmp.arrays.viewed import integers
from portmp.backends.base import is_recording
from portmp.errors import ArgumentError, ShapeError
from portmp.routines.random import launch
from portmp.routines.random.layout import Stream
from portmp.runtime.planes import Numbers

if TYPE_CHECKING:
    from numpy.random import SeedSequence

LENGTH = 1 << 66
"""Words of a stream; jumps go so far."""
_NAME = "Philox4x32"


class Philox:
    """Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011): word i is a function of the seed and i.

    *seed*: what NumPy's SeedSequence takes (None: from the system, an integer from 0 on, a sequence
    of such), or a SeedSequence. It gives the key and the upper half of the counter; the lower half
    counts blocks of four words of 32 bits.
    """

    def __init__(self, seed: Any = None) -> None:
        from numpy.random import SeedSequence

        if not isinstance(seed, SeedSequence):
            try:
                seed = SeedSequence(seed)
            except (TypeError, ValueError) as error:
                raise ArgumentError(
                    f"seed: {seed!r:.60} given, None, integers from 0 on, a sequence of these or a "
                    f"SeedSequence are allowed: {error}"
                ) from None
        self._seeds: SeedSequence | None = seed
        words = [int(word) for word in seed.generate_state(4)]
        self._stream = Stream((words[0], words[1]), (words[2], words[3]))
        self._position = 0
        self._lock = threading.Lock()

    @property
    def seed_seq(self) -> SeedSequence:
        """What the key was made of; ArgumentError where the state was set instead."""
        if self._seeds is None:
            raise ArgumentError("seed_seq: the state was set, not made of a seed")
        return self._seeds

    # --- where it is --------------------------------------------------------------------------

    @property
    def state(self) -> dict[str, Any]:
        """Key, upper half of the counter, and the place of the next word, in plain numbers."""
        with self._lock:
            stream, position = self._stream, self._position
        return {
            "bit_generator": _NAME,
            "key": list(stream.key),
            "upper": list(stream.upper),
            "position": position,
        }

    @state.setter
    def state(self, value: Mapping[str, Any]) -> None:
        stream, position = _checked(value)
        with self._lock:
            if stream != self._stream:
                self._seeds = None
            self._stream, self._position = stream, position

    def __getstate__(self) -> dict[str, Any]:
        return {"state": self.state, "seeds": self._seeds}

    def __setstate__(self, held: Mapping[str, Any]) -> None:
        self._stream, self._position = _checked(held["state"])
        self._seeds = held["seeds"]
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<portmp.random.Philox, {self._position} words drawn>"

    def advance(self, words: int) -> Philox:
        """Go on as if so many words had been drawn; returns itself."""
        count = _index(words, "words")
        if count < 0:
            raise ArgumentError(f"words: {count} given, numbers from 0 on are allowed")
        with self._lock:
            self._go(count)
        return self

    def jumped(self, jumps: int = 1) -> Philox:
        """A new one, *jumps* times 2^66 words ahead: no draw comes from one to the next."""
        made = copy.copy(self)
        return made.advance(_index(jumps, "jumps") * LENGTH)

    def spawn(self, count: int) -> list[Philox]:
        """So many new ones with keys of their own, by SeedSequence.spawn."""
        number = _index(count, "count")
        if number < 0:
            raise ArgumentError(f"count: {number} given, numbers from 0 on are allowed")
        return [Philox(seeds) for seeds in self.seed_seq.spawn(number)]

    def _go(self, words: int) -> None:
        jumps, self._position = divmod(self._position + words, LENGTH)
        if jumps:
            upper = self._stream.upper[0] | self._stream.upper[1] << 32
            upper = (upper + jumps) % 2**64
            self._stream = Stream(self._stream.key, (upper % 2**32, upper >> 32))

    # --- what draws take ------------------------------------------------------------------------

    def reserve(self, count: int, words: int) -> tuple[Stream, int]:
        """Take words for *count* elements: the stream, and the place of the first word.

        The first is a multiple of *words*, a power of two; what is before it is left out.
        """
        if is_recording():
            raise ArgumentError(
                "capture: each replay would draw the same random numbers; draw outside"
            )
        with self._lock:
            self._go(-self._position % words)
            if self._position + count * words > LENGTH:
                self._go(LENGTH - self._position)
            stream, first = self._stream, self._position
            self._go(count * words)
        return stream, first

    def random_raw(
        self, size: int | Sequence[int] | None = None, device: Where = None
    ) -> PlainArray:
        """The next words of the stream, as a plain array of uint32."""
        out = creation.new(sizes(size), np.dtype("uint32"), device, "random_raw")
        assert isinstance(out, Numbers)
        stream, first = self.reserve(out.size, 1)
        launch.fill_words(stream, first, out)
        return PlainArray(out)


def _index(value: Any, argument: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise ArgumentError(f"{argument}: {value!r:.60} given, an integer is needed") from None


def _checked(value: Any) -> tuple[Stream, int]:
    """Stream and place of a state; ArgumentError where it is none."""
    try:
        name, position = value["bit_generator"], operator.index(value["position"])
        key, upper = ([operator.index(word) for word in value[k]] for k in ("key", "upper"))
    except (TypeError, KeyError) as error:
        raise ArgumentError(f"state: {value!r:.80} given: {error!r}") from None
    words = [*key, *upper]
    if name != _NAME or len(key) != 2 or len(upper) != 2 or not 0 <= position < LENGTH:
        raise ArgumentError(
            f"state: {value!r:.120} given; bit_generator {_NAME!r}, two words as key, two as upper "
            "and a position from 0 to 2^66 - 1 are allowed"
        )
    if any(not 0 <= word < 2**32 for word in words):
        raise ArgumentError(f"state: words {words} given, from 0 to 2^32 - 1 are allowed")
    return Stream((key[0], key[1]), (upper[0], upper[1])), position


def sizes(size: int | Sequence[int] | None) -> tuple[int, ...]:
    """A shape as NumPy's generators take it: None is that of one number."""
    if size is None:
        return ()
    found = integers((size,), "size")
    if any(not 0 <= n < 2**63 for n in found):
        raise ShapeError(
            f"size: {tuple(found)!s:.80} given, lengths from 0 to 2^63 - 1 are allowed"
        )
    return tuple(found)
