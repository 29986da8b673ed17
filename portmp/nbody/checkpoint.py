"""A run of ``portmp nbody`` in a file, replaced now and then: a killed one goes on from it.

The file says of which run it is. It holds the courses that are done, and the stage of the present
one: the system as ``System.save`` writes it, samples, and the start that they are compared with.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from portmp.backends.base import Device
from portmp.errors import ArgumentError, InputError
from portmp.files import arrays as files
from portmp.nbody import system
from portmp.nbody.trajectory import Course, Stage

VERSION = 1


@dataclass
class Checkpoint:
    """The file of a run, replaced every so many *seconds*.

    *run*: what tells it from others, as data of JSON.
    """

    file: Path
    run: Mapping[str, Any]
    seconds: float
    courses: list[Course] = field(default_factory=list)
    _last: float = field(default_factory=time.monotonic)

    def pause(self, stage: Stage) -> None:
        """Save the stage if it is time."""
        by_one = stage.system.by_one
        if by_one(lambda: time.monotonic() - self._last >= self.seconds, "whether it is time"):
            self.save(stage)

    def ended(self, stage: Stage) -> None:
        """Save that a format's run is done."""
        self.save(stage)
        self.courses.append(stage.course)

    def save(self, stage: Stage) -> None:
        """Replace the file in one step."""
        courses = [*self.courses, stage.course]
        facts: dict[str, Any] = {
            "version": VERSION,
            "run": dict(self.run),
            "courses": [{k: v for k, v in asdict(c).items() if k != "positions"} for c in courses],
            "done": stage.done,
            "energy": str(stage.energy),
            "momentum": [str(x) for x in stage.momentum],
        }
        arrays: dict[str, Any] = {
            f"positions{i}": np.array(c.positions) for i, c in enumerate(courses)
        }
        arrays |= {f"origin{i}": plane for i, plane in enumerate(stage.origin)}
        arrays |= stage.system.members()
        arrays["checkpoint"] = np.array(json.dumps(facts))
        write = partial(files.write_members, self.file, arrays)
        stage.system.by_one(write, f"that {self.file} is written")
        self._last = time.monotonic()

    def resumed(self, device: Device) -> Stage | None:
        """Read the file, if it is there: courses that are done, and the stage of the next.

        ArgumentError for one of another run, InputError for one that is no such file.
        """
        if not self.file.exists():
            return None
        found = files.members(self.file)
        try:
            facts = json.loads(str(found["checkpoint"][()]))
            if facts["version"] != VERSION:
                raise InputError(f"version {facts['version']!r}, {VERSION} is read")
            other = [k for k, v in self.run.items() if facts["run"].get(k) != v]
            if other:
                raise ArgumentError(
                    f"--checkpoint {self.file}: is of another run, with {other[0]} "
                    f"{facts['run'].get(other[0])!r:.60}, not {self.run[other[0]]!r:.60}; name "
                    "another file, or remove this one"
                )
            courses = [
                Course(**{**c, "positions": list(found[f"positions{i}"])})
                for i, c in enumerate(facts["courses"])
            ]
            self.courses = courses[:-1]
            return Stage(
                system.restored(found, None, device),
                courses[-1],
                Fraction(facts["energy"]),
                [Fraction(x) for x in facts["momentum"]],
                [found[key] for i in range(len(found)) if (key := f"origin{i}") in found],
                int(facts["done"]),
            )
        except ArgumentError:
            raise
        except Exception as error:  # a file may hold anything in the place of anything
            raise InputError(f"{self.file}: is no checkpoint: {error}") from None

    def remove(self) -> None:
        """The run is over, and its results are where they were asked for."""
        self.file.unlink(missing_ok=True)
