"""What reads bytes from strangers, each with inputs to begin from: for test_fuzz.py and ci/fuzz.

A target raises nothing but portmp's errors, ends within SECONDS and takes no more than MEMORY,
whatever it is given.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from pathlib import Path

import numpy as np

import portmp as mp
from portmp import discovery, formats
from portmp.bench import reports
from portmp.errors import PortmpError
from portmp.files import arrays as files
from portmp.formats import parse
from portmp.kernels import verifying
from portmp.nbody import memory, particles, system
from portmp.nbody.checkpoint import Checkpoint
from portmp.nbody.trajectory import Plan, begun
from portmp.porting import hipify, report, sources, templates
from portmp.porting.traps.base import Facts
from portmp.report import devices, subjects
from portmp.schedules import database

SECONDS = 2.0
MEMORY = 200 * 2**20

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Target:
    """*read* takes the path of a file with a case; of a *cost* of 5 a fifth as many are tried."""

    name: str
    suffix: str
    read: Callable[[Path], object]
    seeds: Callable[[], Sequence[bytes]]
    words: Sequence[bytes] = ()
    cost: int = 1


@cache
def folder() -> Path:
    """Where cases lie: in memory where there is such a place."""
    place = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="portmp.fuzz.", dir=place if place.is_dir() else None))


def run(target: Target, case: bytes) -> bool:
    """Give a case to a target; whether it was read. Any error but portmp's own is passed on."""
    path = folder() / f"case{target.suffix}"
    path.write_bytes(case)
    try:
        target.read(path)
    except PortmpError:
        return False
    return True


def _array(path: Path) -> object:
    if path.suffix in (".npy", ".npz"):  # also by parts, whatever reading the whole says
        with contextlib.suppress(PortmpError):
            mp.distributed.load(path, "dd", devices=["host:0"])
    return files.read(path, formats.get("dd"), discovery.get("host:0"))


def _ported(path: Path) -> object:
    source = sources.read(path)
    found = report.of(source)
    facts = Facts(source)
    first = [templates.of(facts, f) for f in facts.functions if f.is_kernel]
    return found, hipify.translated(source), first


def _cuda_seeds() -> list[bytes]:
    return [path.read_bytes() for path in sorted((ROOT / "tests/data/cuda").glob("*.cu"))]


def _npz(path: Path) -> object:
    files.stored_format(path)
    files.headers(path)
    return _array(path)


def _state(path: Path) -> object:
    system.is_saved(path)
    memory.source(str(path), [formats.get("dd")])
    return system.load(path, device="host:0")


def _checkpoint(path: Path) -> object:
    return Checkpoint(path, {}, 0).resumed(discovery.get("host:0"))


def _number(path: Path) -> object:
    text = path.read_bytes().decode("utf-8", errors="replace")
    value = parse.parse_number(text, "x")
    return mp.array([value], "qd", "host:0").to_strings("round-trip")


def _database(path: Path) -> object:
    return database.parsed(database._content(path), str(path), "fuzz")


# --- seeds ------------------------------------------------------------------------------------


def _saved(write: Callable[[Path], object], suffix: str) -> bytes:
    path = folder() / f"seed{suffix}"
    write(path)
    return path.read_bytes()


def _npy_seeds() -> list[bytes]:
    found = []
    for array in (
        np.arange(6.0).reshape(2, 3),
        np.array(["1.5", "nan"]),
        np.array([b"1", b"22"]),
        np.float32([[1]]),
        np.int64([2**62]),
        np.array([1 + 2j]),
        np.zeros((0, 3)),
        np.array(7.0),
    ):
        stream = io.BytesIO()
        np.save(stream, array)
        found.append(stream.getvalue())
    return found


def _npz_seeds() -> list[bytes]:
    arrays = [
        mp.array([["1.1", "-2e-300"]], name, "host:0") for name in ("dd", "slfp64in48b", "ts")
    ]
    found = [_saved(partial(files.write, array=a), ".npz") for a in arrays]
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", _npy_seeds()[0])
    return [*found, stream.getvalue()]


def _system() -> system.System:
    bodies = mp.array([[0, 0, 0, 1], [1, 0, 0, 2]], "dd", "host:0")
    return system.System(bodies[:, :3], bodies[:, 1:], bodies[:, 3], eps="0.1")


def _state_seeds() -> list[bytes]:
    zeros = np.zeros((2, 3))
    arrays = {"position": zeros, "velocity": zeros, "mass": np.ones(2), "G": np.array(2.0)}
    return [
        _saved(lambda p: _system().save(p), ".npz"),
        _saved(lambda p: files.write_members(p, arrays), ".npz"),
    ]


def _checkpoint_seeds() -> list[bytes]:
    plan = Plan("leapfrog", Fraction(1, 8), 4, 2, True, True)
    return [_saved(lambda p: Checkpoint(p, {"dt": "1/8"}, 0).save(begun(_system(), plan)), ".npz")]


def _texts(*texts: str) -> Callable[[], list[bytes]]:
    return lambda: [text.encode() for text in texts]


def _report_seeds() -> list[bytes]:
    found = [path.read_bytes() for path in sorted((ROOT / "bench" / "results").glob("*.json"))]
    return sorted((text for text in found if b'"schema"' in text), key=len)[:6]


def _device_seeds() -> list[bytes]:
    both = ("energy-h200-2026-11-22", "nbody-ds-h200-cuda-2026-11-22")
    paths = [ROOT / "bench" / "results" / f"{name}.json" for name in both]
    found, _ = subjects.read(paths)
    return [devices.as_file(devices.joined(found, "cuda:0")).encode()]


NUMBERS = (b"1e400", b"-0", b"nan", b"inf", b"1/3", b"0x1.8p-1074", b"9" * 400, b"1e-99999999")
MARKS = (b",", b";", b"\n", b" ", b"\t", b'"', b"#", b"\r", b"\x00", b"\xef\xbb\xbf", b"%")
JSON = (b"{", b"}", b"[", b"]", b"null", b"1e999", b"-1", b'""', b"true", b'"\\ud800"', b"[" * 50)
CUDA = (b"(", b"}", b"<<<", b"#if ", b"#define A ", b"\\\n", b"template<", b"__shfl_sync(", b"\xff")
NUMPY = (b"<f8", b"<U0", b"|S0", b"|O", b">c16", b"<f16", b"(2,", b"True", b"99999999999", b"limb0")

TARGETS = {
    target.name: target
    for target in (
        Target("npy", ".npy", _array, _npy_seeds, NUMPY),
        Target("npz", ".npz", _npz, _npz_seeds, NUMPY),
        Target(
            "mtx",
            ".mtx",
            _array,
            _texts(
                "%%MatrixMarket matrix coordinate real symmetric\n% c\n3 3 2\n1 1 0.1\n3 1 -2\n",
                "%%MatrixMarket matrix array integer general\n2 2\n1\n2\n3\n4\n",
                "%%MatrixMarket matrix coordinate pattern skew-symmetric\n2 2 1\n2 1\n",
            ),
            (*NUMBERS, *MARKS, b"999999999999999999", b"array", b"coordinate", b"pattern"),
        ),
        Target("csv", ".csv", _array, _texts("a,b\n1.5,-2e3\n", '"1";"2,5"\n'), (*NUMBERS, *MARKS)),
        Target("txt", ".txt", _array, _texts("1 2\n# c\n3 4\n"), (*NUMBERS, *MARKS)),
        Target(
            "particles",
            ".csv",
            particles.read,
            _texts("# G = 2\nname,mass,x,y,z,vx,vy,vz\nsun,1,0,0,0,0,0,0\np,1e-3,1,0,0,0,1,0\n"),
            (*NUMBERS, *MARKS, b"# G = "),
        ),
        Target("arrays", ".npz", particles.read, _state_seeds, NUMPY),
        Target("state", ".npz", _state, _state_seeds, (*NUMPY, *JSON)),
        Target("checkpoint", ".npz", _checkpoint, _checkpoint_seeds, (*NUMPY, *JSON)),
        Target(
            "schedules",
            ".json",
            _database,
            lambda: [
                json.dumps(
                    {
                        "version": 2,
                        "entries": [
                            {
                                "where": {"kind": "gpu", "device": ["a", "b"]},
                                "routine": "gemm",
                                "format": "dd",
                                "accuracy": "fast",
                                "shape": "large",
                                "schedule": {"kind": "panels", "rows": 2},
                                "measured": {"date": "2026-01-01"},
                            }
                        ],
                        "kernels": [
                            {
                                "kernel": "axpy",
                                "template": "axpy.mako",
                                "text": "0",
                                "where": dict.fromkeys(database.IDENTITY, "a"),
                                "compiler": "b",
                                "schedule": {"values": {"tile": 8}, "block": [64, 1, 1]},
                                "measured": {"date": "2026-01-01"},
                            }
                        ],
                    }
                ).encode()
            ],
            JSON,
        ),
        Target(
            "digests",
            ".json",
            verifying.read_digests,
            lambda: [
                json.dumps(
                    {"version": 1, "digests": [dict.fromkeys(verifying.FIELDS, "0123")]}
                ).encode()
            ],
            JSON,
        ),
        Target("report", ".json", reports.read_all, _report_seeds, JSON),
        Target("device", ".json", devices.refusals, _device_seeds, JSON),
        Target("cuda", ".cu", _ported, _cuda_seeds, CUDA, cost=5),
        Target("number", ".txt", _number, _texts("1.25e-3", "-22/7", "0x1.8p3", " inf "), NUMBERS),
    )
}


# --- mutations --------------------------------------------------------------------------------


def cases(target: Target, count: int, seed: int) -> Iterator[bytes]:
    """Inputs made from the seeds and from each other, the same for the same *seed*."""
    draw = random.Random(f"{target.name} {seed}")
    pool = [*target.seeds()]
    yield from pool
    for _ in range(count - len(pool)):
        case = draw.choice(pool)
        for _ in range(draw.choice((1, 1, 2, 4))):
            case = draw.choice(MUTATIONS)(case, target, draw)[:100_000]
        if draw.random() < 0.02:
            pool[draw.randrange(len(target.seeds()), len(pool) + 1) :] = [case]
        yield case


def _flipped(case: bytes, target: Target, draw: random.Random) -> bytes:
    if not case:
        return b"x"
    at = draw.randrange(len(case))
    return case[:at] + bytes([case[at] ^ 1 << draw.randrange(8)]) + case[at + 1 :]


def _cut(case: bytes, target: Target, draw: random.Random) -> bytes:
    start, stop = sorted(draw.randrange(len(case) + 1) for _ in range(2))
    return case[:start] + case[stop:]


def _repeated(case: bytes, target: Target, draw: random.Random) -> bytes:
    start, stop = sorted(draw.randrange(len(case) + 1) for _ in range(2))
    return case[:stop] + case[start:stop] * draw.choice((1, 2, 50)) + case[stop:]


def _word(case: bytes, target: Target, draw: random.Random) -> bytes:
    at = draw.randrange(len(case) + 1)
    over = draw.choice((0, 0, 1, 4))
    return case[:at] + draw.choice(target.words or (b"0",)) + case[at + over :]


def _random(case: bytes, target: Target, draw: random.Random) -> bytes:
    at = draw.randrange(len(case) + 1)
    return case[:at] + draw.randbytes(draw.choice((1, 2, 8))) + case[at:]


def _number_changed(case: bytes, target: Target, draw: random.Random) -> bytes:
    places = [i for i, c in enumerate(case) if 48 <= c < 58]
    if not places:
        return case
    at = draw.choice(places)
    return case[:at] + draw.choice((b"0", b"1", b"9", b"-1", b"99999999999")) + case[at + 1 :]


def _member_changed(case: bytes, target: Target, draw: random.Random) -> bytes:
    """An archive with one member mutated, so that its sums are right."""
    try:
        with zipfile.ZipFile(io.BytesIO(case)) as archive:
            members = {m: archive.read(m) for m in archive.namelist()}
    except Exception:  # mutated before: whatever a damaged archive raises
        return _flipped(case, target, draw)
    if not members or sum(map(len, members.values())) > 10**6:
        return case
    chosen = draw.choice([*members])
    other = draw.choice((_flipped, _cut, _word, _number_changed, _random))
    members[chosen] = other(members[chosen], target, draw)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", draw.choice((0, 8))) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return stream.getvalue()


MUTATIONS: tuple[Callable[[bytes, Target, random.Random], bytes], ...] = (
    _flipped,
    _cut,
    _repeated,
    _word,
    _random,
    _number_changed,
    _member_changed,
)
