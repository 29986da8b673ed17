"""``ci/inject``: commands whose system calls fail, or that are killed in them; nothing may be lost.

strace makes a call fail. Each command is first run as it should be, and its calls on files of its
own are listed; then it is run again and again, in a fresh folder, each time with another fault at
another of these calls. docs/safety.md says what must hold.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 120.0
"""After which a command counts as hung."""

WRITING = ("write", "pwrite64", "writev", "fsync", "mkdir", "rename", "linkat", "openat")
CALLS = (*WRITING, "read", "unlink", "fchmodat", "flock", "ftruncate")

FAULTS: Mapping[str, tuple[Sequence[str], str]] = {
    "disk full": (WRITING, "error=ENOSPC"),
    "quota": (("write", "fsync", "rename", "openat"), "error=EDQUOT"),
    "no permission": (
        ("openat", "mkdir", "rename", "linkat", "unlink", "fchmodat"),
        "error=EACCES",
    ),
    "read-only": (("openat", "mkdir", "rename", "linkat", "unlink"), "error=EROFS"),
    "broken disk": (("read", "write", "fsync", "openat", "rename", "ftruncate"), "error=EIO"),
    "no handles": (("openat",), "error=EMFILE"),
    "no locks": (("flock",), "error=ENOLCK"),
    "killed": (CALLS, "signal=SIGKILL"),
    "Ctrl-C": (CALLS, "signal=SIGINT"),
}
"""For each fault the calls that it strikes, and how strace is told."""


# --- commands ---------------------------------------------------------------------------------


def parsed(old: bytes, new: bytes) -> bool:
    """For reports that hold times: whether both are whole, of the same length."""
    return len(json.loads(old)) == len(json.loads(new))


def keeps_entries(old: bytes, new: bytes) -> bool:
    """For databases: *new* has what was there, and more."""
    return len(json.loads(new)["entries"]) >= 2 and b'"gone"' not in new and b'"stays"' in new


@dataclass(frozen=True)
class Scene:
    """A command of portmp in a folder of its own; *results* are the files that it writes.

    *whole* tells by the result of a run without faults whether a file is the whole new one.
    """

    name: str
    words: str
    results: Sequence[str] = ()
    whole: Callable[[bytes, bytes], bool] = bytes.__eq__
    cold: bool = False
    """Whether the caches are empty."""
    repeated: bool = True
    """Whether the same command, run again, goes on or begins anew to the same results."""


ORBITS = "nbody --steps 4 --samples 2 --format dd --device host:0"

SCENES = (
    Scene("table", "gemm a.csv a.csv -o r.csv --device host:0", ("r.csv",)),
    Scene("archive", "gemm a.npz a.csv -o r.npz --device host:0", ("r.npz",)),
    Scene("printed", "gemm a.csv a.npz --json --device host:0"),
    Scene("kernels", "gemm a.csv a.csv -o r.mtx", ("r.mtx",)),
    Scene("first use", "gemm a.csv a.csv -o r.mtx", ("r.mtx",), cold=True),
    Scene(
        "run",
        f"{ORBITS} --checkpoint c.npz --every 0 --trajectory t.npz -o r.npz",
        ("t.npz", "r.npz"),
    ),
    Scene("plot", f"{ORBITS} --plot p.png", ("p.png",)),
    Scene(
        "report", "verify --routine add --format ds -o v.json --device host:0", ("v.json",), parsed
    ),
    Scene(
        "schedules",
        "tune axpy --format ds --accuracy accurate --seconds 1 -o s.json",
        ("s.json",),
        keeps_entries,
    ),
    Scene("cache", "cache --clear"),
)

STORED = {
    "where": {"kind": "gpu", "device": "stays"},
    "routine": "gemm",
    "format": "dd",
    "accuracy": "accurate",
    "shape": "large",
    "schedule": {"kind": "panels", "rows": 1},
}


@dataclass(frozen=True)
class Place:
    """The folder of a run: ``here`` is the current one, the others are portmp's."""

    folder: Path

    @property
    def here(self) -> Path:
        return self.folder / "here"

    def fill(self, results: Sequence[str]) -> None:
        """Input files, and an earlier file in the place of each result."""
        for name in ("here", "cache", "config", "tmp", "home"):
            (self.folder / name).mkdir(mode=0o700)
        (self.here / "a.csv").write_text("1.1,2.2\n3.3,4.4\n")
        for name in results:
            (self.here / name).write_bytes(earlier(name))

    def environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PORTMP_", "POCL_"))}
        return {
            **kept,
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.folder / "tmp"),
            "PORTMP_CACHE_DIR": str(self.folder / "cache"),
            "PORTMP_CONFIG_DIR": str(self.folder / "config"),
        }


def earlier(name: str) -> bytes:
    """What lies in the place of a result before the run."""
    if name == "s.json":
        return json.dumps({"version": 2, "entries": [STORED]}).encode()
    return f"the earlier {name}\n".encode()


# --- one run ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fault:
    """What fails in which call: the *at*-th of its kind in a thread, or memory beyond a limit."""

    kind: str
    call: str = ""
    at: int = 0
    memory: int = 0

    def __str__(self) -> str:
        where = f"{self.call} {self.at}" if self.call else f"{self.memory >> 20} MiB"
        return f"{self.kind} at {where}"

    def words(self, log: Path) -> list[str]:
        """The command that lets it happen, in front of portmp's."""
        if not self.call:
            return []
        how = FAULTS[self.kind][1]
        # With --seccomp-bpf strace 6.1 loses signals.
        fast = [] if how.startswith("signal") else ["--seccomp-bpf"]
        return [
            *("strace", "-f", *fast, "-y", "-o", str(log)),
            # execve: the first line is then of the command itself, whatever it starts.
            *("-e", f"trace=execve,{self.call}", "-e", f"inject={self.call}:{how}:when={self.at}"),
        ]


OURS = r'/inject/(here|cache|config)[/>"]|\b[12]<|(AT_FDCWD, |\()"[^/]'
"""What a call names that is portmp's: its folders, what it prints, files of the current folder."""


@dataclass
class Trial:
    """A command that met a fault, and what is wrong with how it took it."""

    scene: Scene
    fault: Fault
    status: int
    out: str
    err: str
    struck: str
    """The call that failed, as strace writes it; empty where none did."""
    first: str = ""
    """The process that the command began as."""
    complaints: list[str] = field(default_factory=list)

    @property
    def elsewhere(self) -> bool:
        """Whether a driver's or another library's own call failed: some end the process then.

        So is one of a process that they started.
        """
        child = bool(self.first) and not self.struck.startswith(f"{self.first} ")
        return bool(self.struck) and (child or not re.search(OURS, self.struck))

    @property
    def ended(self) -> str:
        """How the command ended, in a word."""
        return {0: "went on", 1: "failed", 2: "said why", 130: "stopped"}.get(self.status, "died")


def portmp(
    place: Place, words: str, before: Sequence[str] = (), memory: int = 0
) -> tuple[int, str, str]:
    """Run a command of portmp; status (negative: the signal), standard output and error."""

    def limited() -> None:
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    process = subprocess.Popen(
        [*before, sys.executable, "-P", "-m", "portmp", *words.split()],
        cwd=place.here,
        env=place.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
        preexec_fn=limited,  # noqa: PLW1509 - the threads here only wait
    )
    try:
        out, err = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        out, err = process.communicate()
        return -99, out, err
    return process.returncode, out, err


@dataclass
class Stage:
    """A scene made ready: the folder to copy, the results of a run without faults, its calls."""

    scene: Scene
    model: Path
    expected: Mapping[str, bytes]
    calls: Mapping[str, Sequence[int]]
    """For each kind of call the numbers of those on files of the run, and on what it prints."""

    def fresh(self, folder: Path) -> Place:
        shutil.copytree(self.model, folder, symlinks=True)
        return Place(folder)

    def run(self, fault: Fault, folder: Path) -> Trial:
        """The command with a fault in a fresh folder, then the same without one."""
        place, log = self.fresh(folder / "inject"), folder / "log"
        words = self.scene.words
        status, out, err = portmp(place, words, fault.words(log), fault.memory)
        lines = _lines(log) if log.exists() else []
        struck = next((line for line in lines if "(INJECTED)" in line), "")
        for at, line in enumerate(lines):
            if "--- SIGINT" in line or "+++ killed by SIGKILL" in line:
                struck = struck or lines[at - 1]
        first = lines[0].split()[0] if lines else ""
        trial = Trial(self.scene, fault, status, out, err, struck, first)
        trial.complaints += self._of_the_files(place, trial) + _of_the_words(trial)
        again, _, err = portmp(place, words)
        if again != 0:
            trial.complaints.append(f"the next run ends with {again}: {err.strip()[:300]}")
        elif wrong := [n for n in self.scene.results if not self._is_whole(place, n)]:
            trial.complaints.append(f"the next run leaves {wrong[0]} wrong")
        shutil.rmtree(folder, ignore_errors=True)
        return trial

    def _is_whole(self, place: Place, name: str) -> bool:
        try:
            return self.scene.whole(self.expected[name], (place.here / name).read_bytes())
        except (OSError, ValueError, KeyError):
            return False

    def _of_the_files(self, place: Place, trial: Trial) -> list[str]:
        found = []
        for name in self.scene.results:
            path = place.here / name
            whole = self._is_whole(place, name)
            if not whole and not (path.exists() and path.read_bytes() == earlier(name)):
                found.append(f"{name} is neither the earlier file nor the new one")
            if trial.status == 0 and not whole:
                found.append(f"{name} was not written, and the status is 0")
        left = [path.name for path in place.here.glob(".*") if not path.name.endswith(".lock")]
        if left and trial.ended != "died" and trial.fault.call != "unlink":
            found.append(f"{left[0]} is left over")
        return found


EXPECTED = {"killed": (-9, 137), "Ctrl-C": (130,)}
"""Statuses with which a command may end besides."""


def _of_the_words(trial: Trial) -> list[str]:
    """What is wrong with how it ended and with what it said."""
    found: list[str] = []
    error = trial.err.strip()
    if error.startswith("OpenBLAS error: Memory allocation"):
        return found  # NumPy's BLAS ends the process itself, with these words
    allowed = {0, 2, *EXPECTED.get(trial.fault.kind, ())}
    if trial.elsewhere:
        allowed |= {-6, -11}
    if trial.status == -99:
        found.append(f"it hangs: {error[-300:]}")
    elif trial.status not in allowed:
        found.append(f"status {trial.status}: {error[-300:]}")
    if ("Traceback" in error or "Exception ignored" in error) and not trial.elsewhere:
        found.append(f"a traceback: {error[-400:]}")
    mute = re.search(r"write\(2<", trial.struck)  # what should say it is what fails
    if trial.status == 2 and "portmp: error: " not in error and not mute:
        found.append(f"no words: {error[-300:]!r}")
    return found


# --- all of them ------------------------------------------------------------------------------


def prepared(scene: Scene, folder: Path) -> Stage:
    """Run a scene without faults, once to fill the caches and once to list its calls."""
    model = Place(folder / "model")
    model.folder.mkdir(parents=True)
    model.fill(scene.results)
    if "a.npz" in scene.words:
        _must(portmp(model, "gemm a.csv a.csv -o a.npz --device host:0"))
    filled = Place(folder / "filled")
    shutil.copytree(model.folder, filled.folder)
    _must(portmp(filled, scene.words))
    if not scene.cold:
        shutil.rmtree(model.folder / "cache")
        shutil.copytree(filled.folder / "cache", model.folder / "cache")
        if scene.words.startswith("cache"):
            _must(portmp(model, "gemm a.csv a.csv --device host:0"))
    expected = {name: (filled.here / name).read_bytes() for name in scene.results}
    listed = Place(folder / "listed" / "inject")
    shutil.copytree(model.folder, listed.folder)
    log = folder / "calls"
    trace = ["strace", "-f", "--seccomp-bpf", "-y", "-qq", "-o", str(log)]
    _must(portmp(listed, scene.words, [*trace, "-e", f"trace={','.join(CALLS)}"]))
    return Stage(scene, model.folder, expected, _calls(log, listed.folder))


def _must(done: tuple[int, str, str]) -> None:
    status, _, err = done
    if status:
        raise SystemExit(f"ci/inject: a run without faults ends with {status}: {err}")


def _calls(log: Path, folder: Path) -> dict[str, list[int]]:
    """Numbers of the calls of each kind that touch *folder*, or standard output and error."""
    counts: Counter[tuple[str, str]] = Counter()
    ours: list[tuple[str, str, int]] = []
    first = ""
    for line in _lines(log):
        match = re.match(r"(\d+) +(\w+)\(", line)
        if not match:
            continue
        thread, call = match.groups()
        first = first or thread
        counts[thread, call] += 1
        if str(folder) in line or re.search(OURS, line):
            ours.append((thread, call, counts[thread, call]))
    found: dict[str, set[int]] = {}
    for thread, call, number in ours:
        # The number counts in each thread: it shall not strike the first one at its start.
        if thread == first or number > counts[first, call]:
            found.setdefault(call, set()).add(number)
    return {call: sorted(numbers) for call, numbers in found.items()}


def _lines(log: Path) -> list[str]:
    """What strace wrote, without the current folder, which it adds to calls that begin there."""
    return [
        re.sub(r"AT_FDCWD<[^>]*>", "AT_FDCWD", line)
        for line in log.read_text(errors="replace").splitlines()
    ]


def faults(stage: Stage, count: int, draw: random.Random) -> list[Fault]:
    """*count* faults at calls of a scene, every kind of fault about as often."""
    kinds = []
    for kind, (calls, _) in FAULTS.items():
        points = [Fault(kind, call, at) for call in calls for at in stage.calls.get(call, ())]
        draw.shuffle(points)
        if points:
            kinds.append(points)
    in_turn = itertools.chain.from_iterable(itertools.zip_longest(*kinds))
    return [fault for fault in in_turn if fault][:count]


def least_memory(place: Place) -> int:
    """The least address space in which portmp starts at all."""
    low, high = 2**24, 2**34
    while high - low > 2**22:
        middle = (low + high) // 2
        status, _, _ = portmp(place, "devices --no-probe --json", memory=middle)
        low, high = (low, middle) if status == 0 else (middle, high)
    return high


def memory_faults(stage: Stage, folder: Path, count: int) -> list[Fault]:
    """Limits of memory, from what portmp starts in to twice as much."""
    # A little more than what the start takes: it is not the same each time.
    least = least_memory(stage.fresh(folder)) * 21 // 20
    return [Fault("no memory", memory=least + least * i // count) for i in range(count)]


def main() -> int:
    """0 if nothing was lost."""
    parser = argparse.ArgumentParser(prog="ci/inject", description=__doc__)
    parser.add_argument("scenes", nargs="*", help="(default: all)")
    parser.add_argument("--count", type=int, default=50, help="faults a scene")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of calls")
    parser.add_argument("--list", action="store_true", help="name the scenes")
    parser.add_argument("--verbose", action="store_true", help="print every fault")
    args = parser.parse_args()
    scenes = {scene.name: scene for scene in SCENES}
    if args.list:
        for scene in SCENES:
            print(f"{scene.name}: portmp {scene.words}")
        return 0
    unknown = [name for name in args.scenes if name not in scenes]
    if unknown:
        parser.error(f"unknown scene {unknown[0]!r}; scenes: {', '.join(scenes)}")
    if shutil.which("strace") is None:
        parser.error("strace is needed, which makes calls fail; apt install strace")
    total = bad = 0
    base = Path(tempfile.mkdtemp(prefix="portmp-inject-"))
    try:
        for name in args.scenes or scenes:
            trials = tried(scenes[name], base / name.replace(" ", "-"), args.count, args.seed)
            wrong = [trial for trial in trials if trial.complaints]
            total, bad = total + len(trials), bad + len(wrong)
            ends = Counter(trial.ended for trial in trials)
            counts = ", ".join(f"{number} {how}" for how, number in sorted(ends.items()))
            missed = sum(not trial.struck for trial in trials if trial.fault.call)
            print(f"{name}: {len(trials)} faults: {counts}; {missed} met no call")
            for trial in trials if args.verbose else wrong:
                print(f"    {trial.fault}: {trial.ended}: {trial.struck[:150]}")
                print("".join(f"        {line}\n" for line in trial.complaints), end="")
            sys.stdout.flush()
    finally:
        shutil.rmtree(base, ignore_errors=True)
    print(f"{total} faults, {bad} taken badly")
    return 1 if bad else 0


def tried(scene: Scene, folder: Path, count: int, seed: int) -> list[Trial]:
    """*count* faults in a scene, on all cores."""
    stage = prepared(scene, folder)
    points = faults(stage, count, random.Random(f"{scene.name} {seed}"))
    if "host:0" in scene.words and (limits := count // 10):
        points[-limits:] = memory_faults(stage, folder / "least", limits)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        places = (folder / f"{i}" for i in range(len(points)))
        return list(pool.map(lambda fault, place: _in(stage, fault, place), points, places))


def _in(stage: Stage, fault: Fault, folder: Path) -> Trial:
    folder.mkdir()
    return stage.run(fault, folder)


if __name__ == "__main__":
    sys.exit(main())
