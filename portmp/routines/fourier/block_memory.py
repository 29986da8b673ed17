"""Where elements of transforms are in block memory."""

from __future__ import annotations

import numpy as np

from portmp.formats import Format

BYTES = 48 << 10
"""Of a block's memory."""
WIDTH = 128
"""Bytes of memory that banks give at once, a word each."""


class BlockMemory:
    """Elements of *columns* transforms of a *size*, of *parts* of complex numbers at once.

    Threads that read every *group*-th element of a transform, the last stage's, meet other banks:
    behind each *group* of rows words are left out. In the *first* pass these threads are those
    of one transform, of a *whole* one always, else those of neighbouring transforms.
    """

    def __init__(
        self, form: Format, size: int, columns: int, each: int, group: int, first: bool, whole: bool
    ) -> None:
        nbytes = np.dtype(form.word).itemsize
        banks, across = WIDTH // nbytes, size // each
        self.group, self.row, self.column = group, columns, 1
        self.left_out = max(1, banks // across) if first else columns if columns < banks else 0
        if whole:
            room = size + size // group
            self.row, self.column, self.left_out = 1, room + (across - room) % banks, 1
        gaps = 0 if whole else size // group * self.left_out
        self.span = columns * (self.column if whole else size) + gaps
        self.parts = 2 if 2 * self.span * form.limbs * nbytes <= BYTES else 1
        self.words = self.parts * form.limbs * self.span

    def at(self, row: str, column: str) -> str:
        """Where an element lies."""
        steps = ((row, self.row), (column, self.column), (f"{row} / {self.group}", self.left_out))
        return " + ".join(one if step == 1 else f"{one} * {step}" for one, step in steps if step)

    def beyond(self, rows: int) -> int:
        """How far a row lies behind another one: whole groups, or in one."""
        return rows * self.row + rows // self.group * self.left_out
