"""The command line as its users see it: output, exit status, one line of error."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiers

import portmp as mp
from portmp import definition, discovery, formats, progress
from portmp.backends.base import Device
from portmp.bench import cases, gemm_methods, options
from portmp.cli import command_line, main
from portmp.demos import filip
from portmp.errors import ArgumentError, DeviceError, InputError

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run a command in a folder of its own; gives status, output and errors."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        try:
            status = main(list(words))
        except SystemExit as stop:
            status = int(str(stop.code))
        out = capsys.readouterr()
        return status, out.out, out.err

    return call


def _write(name: str, text: str) -> str:
    Path(name).write_text(text)
    return name


def test_devices(run: Run) -> None:
    """Every device with its state; every backend without one with the reason."""
    status, out, _ = run("devices", "--json")
    data = json.loads(out)
    assert status == 0
    *others, host = data["devices"]
    assert others
    for one in others:
        right = ("ok", "repaired") if one["usable"] else (f"{one['name']} ({one['device']}) is",)
        assert one["state"].startswith(right)
    works = [d.name for d in discovery.devices()]
    assert [d["name"] for d in data["devices"] if d["usable"]] == works
    assert host["name"] == "host:0" and host["state"].startswith("slow")
    names = {d["name"].split(":")[0] for d in data["devices"]} | set(data["problems"])
    assert names == {"cuda", "rocm", "opencl", "cpu", "host"}
    status, out, _ = run("devices")
    assert host["name"] in out


def test_gemm_through_files(run: Run) -> None:
    """Text in, planes out, planes in, text out."""
    a = _write("a.csv", "1.1,2.2\n3.3,4.4\n")
    assert run("gemm", a, a, "--format", "qd", "-o", "c.npz")[0] == 0
    assert run("gemm", "c.npz", a, "--format", "qd", "--alpha", "0.5", "-o", "d.mtx")[0] == 0
    status, out, _ = run("gemm", a, a, "-C", a, "--beta", "-1", "--trans-a", "--json")
    values = json.loads(out)["values"]
    assert status == 0
    assert abs(float(values[0][0]) - (1.1 * 1.1 + 3.3 * 3.3 - 1.1)) < 1e-14
    assert Path("d.mtx").read_text().startswith("%%MatrixMarket")
    status, out, _ = run("gemm", a, a, "--accuracy", "fast", "--json")
    assert status == 0
    assert abs(float(json.loads(out)["values"][0][0]) - (1.1 * 1.1 + 2.2 * 3.3)) < 1e-14
    for word, text in (("fats", "did you mean 'fast'"), ("fast", "ts2021 has only accurate")):
        _, _, error = run("gemm", a, a, "--accuracy", word, "--format", "ts2021")
        assert text in error


def test_formats(run: Run) -> None:
    """All formats with their limbs, bits and digits."""
    status, text, _ = run("formats")
    assert status == 0 and all(name in text for name in formats.NAMES)
    rows = {r["name"]: r for r in json.loads(run("formats", "--json")[1])["formats"]}
    assert set(rows) == {*formats.NAMES, *formats.COMPLEX, *formats.STORED}
    assert (rows["qd"]["limbs"], rows["qd"]["bits"], rows["d+s"]["bytes"]) == (4, 212, 12)


def test_method_of_gemm(run: Run) -> None:
    """The Ozaki scheme by name; its product is exact here, as the direct one."""
    direct = run("gemm", "a.csv", "a.csv")[1]
    for method in ("ozaki1", "ozaki2", "auto"):
        assert run("gemm", "a.csv", "a.csv", "--method", method)[1] == direct


@pytest.mark.parametrize("kind", ["csv", "txt", "npz", "npy", "mtx"])
def test_standard_input(kind: str, tmp_path: Path) -> None:
    """A matrix of any kind of file comes by a pipe, once."""
    a = mp.array([["1.5", "2"], ["3", "4"]], "float64")
    mp.save(tmp_path / f"a.{kind}", a)
    command = [sys.executable, "-m", "portmp", "gemm", "-", str(tmp_path / f"a.{kind}")]
    told = subprocess.run(
        [*command, "--format", "float64"],
        stdin=(tmp_path / f"a.{kind}").open("rb"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.split() == str(a @ a).split()
    twice = subprocess.run(
        [*command[:-1], "-"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert twice.returncode == 2 and "one of the matrices only" in twice.stderr


def test_help_tells_defaults() -> None:
    """Every option with a value that it has anyhow says which."""
    commands = next(a for a in command_line()._actions if isinstance(a, argparse._SubParsersAction))
    for name, parser in commands.choices.items():
        text = " ".join(parser.format_help().split())
        for action in parser._actions:
            if action.default in (None, False, argparse.SUPPRESS) or not action.help:
                continue
            assert "default" in " ".join(str(parser._get_formatter()._expand_help(action)).split())
        if "--device DEVICE" in text and name not in ("render", "compile", "report"):
            assert "PORTMP_DEVICE" in text, name


def test_help_of_benchmarks_tells_defaults() -> None:
    """Whatever may be left out and takes a value says what is then; usual ones are as told."""
    free = {"plot", "output", "static"}
    for name, command in (options.COMMANDS | options.SUITES).items():
        parser = argparse.ArgumentParser()
        options.add(parser, command)
        for action in parser._actions:
            if action.nargs != 0 and action.dest not in free:
                assert "default" in (action.help or ""), (name, action.dest)
    helps = options.COMMANDS["blas"].options
    assert set(cases.USUAL_FORMATS) <= set(re.findall(r"\w+", helps["format"]))
    assert set(cases.USUAL_ROUTINES) <= set(re.findall(r"[\w-]+", helps["routine"]))
    told = options.COMMANDS["methods"].options["format"]
    assert f"(default {', '.join(gemm_methods.USUAL_FORMATS)})" in told
    for name, command in options.COMMANDS.items():
        if "experiment" in command.options:
            named = command.options["experiment"].rpartition(": ")[2].split(", ")
            assert set(named) == set(options.family(name).by_name) - {"static"}, name


def test_arguments_of_every_command_are_explained() -> None:
    """Positional ones, too."""
    commands = next(a for a in command_line()._actions if isinstance(a, argparse._SubParsersAction))
    for name, parser in commands.choices.items():
        for action in parser._actions:
            assert action.help or isinstance(action, argparse._SubParsersAction), name


def test_trust_of_lstsq(run: Run) -> None:
    """The residual and the digits that can be trusted, on standard error or as JSON."""
    Path("m.csv").write_text("1,2\n3,4.5\n")
    Path("v.csv").write_text("1\n2\n")
    status, _, told = run("lstsq", "m.csv", "v.csv")
    assert status == 0 and "digits can be trusted" in told
    facts = json.loads(run("lstsq", "m.csv", "v.csv", "--json")[1])
    assert facts["residual"] < 1e-28 and 20 <= facts["digits"] <= 31


def test_lstsq(run: Run) -> None:
    """A line through three points on it, both ways."""
    _write("a.csv", "1,0\n1,1\n1,2\n")
    _write("b.csv", "1\n3\n5\n")
    assert run("lstsq", "a.csv", "b.csv", "-o", "x.csv")[0] == 0
    assert np.allclose(np.loadtxt("x.csv"), [1, 2], rtol=1e-15)
    facts = json.loads(run("lstsq", "a.csv", "b.csv", "--json")[1])
    assert facts["rank"] == 2 and float(facts["residuals"][0]) < 1e-60
    assert "shortest" not in run("lstsq", "a.csv", "b.csv")[2]
    _write("yx.csv", "y,x\n1,0\n3,1\n5,2\n")
    found = json.loads(run("lstsq", "yx.csv", "--polynomial", "1", "--json")[1])["values"]
    assert [abs(float(x) - k) < 1e-15 for k, x in enumerate(found, 1)] == [True, True]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("y,x\n1,0\n3,1\n5,2\n", ""),
        ("x,y\n0,1\n1,3\n2,5\n", ""),
        ("X, Y\n0,1\n1,3\n2,5\n", ""),
        ("1,0\n3,1\n5,2\n", "y is taken first, x second"),
        ("time,way\n1,0\n3,1\n5,2\n", "y is taken first, x second"),
    ],
)
def test_headings_say_which_column_is_which(run: Run, text: str, told: str) -> None:
    """Where they do not, what is taken is said."""
    _write("p.csv", text)
    status, out, err = run("lstsq", "p.csv", "--polynomial", "1")
    first, second = (float(x) for x in out.strip("[]\n").split(","))
    assert status == 0 and abs(first - 1) < 1e-15 and abs(second - 2) < 1e-15
    assert (told in err) if told else ("taken" not in err)
    assert "as far as the given numbers are exact" in err


def test_without_words_help_is_printed(run: Run) -> None:
    status, out, err = run()
    assert status == 0 and "usage: portmp" in out and "nbody" in out and err == ""


def test_python_runs_the_package(tmp_path: Path) -> None:
    """As the command; also where standard output is closed."""
    root = str(Path(__file__).resolve().parents[1])
    for closed in ("", ">&-"):
        done = subprocess.run(
            ["sh", "-c", f"exec '{sys.executable}' -m portmp formats {closed}"],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": root},
        )
        assert (done.returncode, done.stderr) == (0, "") and ("qd" in done.stdout) == (not closed)


def test_lstsq_of_lower_rank(run: Run) -> None:
    """That there are other solutions is told; sums of squares are a few digits long."""
    _write("a.csv", "1,1\n1,1\n1,1\n")
    _write("b.csv", "1\n1\n1.1\n")
    status, out, told = run("lstsq", "a.csv", "b.csv", "--format", "td")
    assert status == 0 and "rank" not in out
    assert "rank 1, 2 unknowns: the shortest of all solutions" in told
    status, out, told = run("lstsq", "a.csv", "b.csv", "-o", "x.npz", "--format", "td")
    assert status == 0 and "rank 1, sums of squares of residuals" in out and "shortest" in told
    assert len(out) < 70


def test_certified_zeros(run: Run) -> None:
    """A system without equations: its bound is 0, in these words."""
    np.save("a.npy", np.zeros((0, 0)))
    np.save("b.npy", np.zeros(0))
    status, _, told = run("solve", "a.npy", "b.npy", "--certify")
    assert status == 0 and "no component's error is above 0: proved" in told


def test_texts_of_complex_numbers(run: Run) -> None:
    """Without a format they are complex ones; a real format says which are. Comments are none."""
    _write("c.txt", "# 1j\n 1+2j (3-4j)\n 2J 5\n")
    _write("r.csv", "1,2 # 3j\n3,4\n")
    found = json.loads(run("gemm", "c.txt", "c.txt", "--json")[1])
    assert found["format"] == "cdd" and found["values"][0] == ["5.0+10.0j", "26.0-18.0j"]
    assert json.loads(run("gemm", "r.csv", "r.csv", "--json")[1])["format"] == "dd"
    np.save("c.npy", np.array([[1j]]))
    for name, said in (
        ("c.txt", "c.txt, line 2, column 1: a complex number is not"),
        ("c.npy", "c.npy: arrays of dtype complex128 are not"),
    ):
        status, _, told = run("gemm", name, name, "--format", "dd")
        assert status == 2 and f"{said} accepted where real ones are held; cdd and" in told


def test_eigh(run: Run) -> None:
    """Values and vectors from files, of one matrix and of two, some of them."""
    _write("a.csv", "2,9\n1,2\n")
    found = json.loads(run("eigh", "a.csv", "--json")[1])
    assert found["shape"] == [2] and np.allclose(np.array(found["values"], float), [1, 3])
    words = ("--upper", "--subset", "1", "1", "--vectors", "v.csv", "-o", "w.csv", "--json")
    status, out, _ = run("eigh", "a.csv", *words)
    assert status == 0 and json.loads(out)["vectors"] == "v.csv"
    assert np.allclose(np.loadtxt("w.csv"), 11)
    assert "a.csv: not symmetric: its lower triangle alone is read" in run("eigh", "a.csv")[2]
    assert np.allclose(np.loadtxt("v.csv", delimiter=",").ravel(), np.sqrt(0.5))
    _write("b.csv", "2,0\n0,2\n")
    assert "symmetric" not in run("eigh", "b.csv")[2]
    _write("h.csv", "2,1+2j\n1-2j,2\n")
    status, out, told = run("eigh", "h.csv", "--json")
    assert status == 0 and json.loads(out)["format"] == "dd" and "Hermitian" not in told
    _write("s.csv", "2,2j\n2j,2\n")
    assert "s.csv: not Hermitian: its lower triangle alone is read" in run("eigh", "s.csv")[2]
    found = json.loads(run("eigh", "a.csv", "b.csv", "--json")[1])
    assert np.allclose(np.array(found["values"], float), [0.5, 1.5])
    for words, message in (
        (("a.csv", "--subset", "1", "2"), "--subset: 1 2 given"),
        (("a.csv", "--vectors", "no/v.csv"), "does not exist"),
        (("a.csv", "--vectors", "v.csv", "-o", "v.csv"), "two outputs"),
    ):
        status, _, error = run("eigh", *words)
        assert status == 2 and message in error


def test_svd(run: Run) -> None:
    """Values, and vectors into files."""
    _write("a.csv", "3,0\n0,4\n0,0\n")
    found = json.loads(run("svd", "a.csv", "--json")[1])
    assert np.allclose(np.array(found["values"], float), [4, 3])
    assert run("svd", "a.csv", "--left", "u.csv", "--right", "v.csv", "--full")[0] == 0
    u, v = (np.loadtxt(name, delimiter=",") for name in ("u.csv", "v.csv"))
    assert u.shape == (3, 3) and v.tolist() == [[0, 1], [1, 0]]
    assert np.allclose(u[:, :2] @ np.diag([4, 3]) @ v, np.loadtxt("a.csv", delimiter=","))
    assert run("svd", "a.csv", "--left", "u.csv", "--right", "u.csv")[0] == 2


def test_solve(run: Run) -> None:
    """A system from files, by LU and by Cholesky's method; what is no such matrix is refused."""
    _write("a.csv", "4,1\n1,3\n")
    _write("b.csv", "6\n7\n")
    for words in ([], ["--positive"]):
        status, out, _ = run("solve", "a.csv", "b.csv", "--json", *words)
        assert status == 0
        found = np.array(json.loads(out)["values"], float)
        assert np.allclose(found, [[1], [2]], rtol=1e-15)
    status, out, told = run("solve", "a.csv", "b.csv", "--refine")
    assert status == 0 and "factors in float64" in told and "error below" in told
    status, out, told = run("solve", "a.csv", "b.csv", "--certify", "-o", "x.csv")
    assert status == 0 and re.match(r"no component's error is above \d\.\de-\d+: proved", told)
    assert np.allclose(np.loadtxt("x.csv"), [1, 2], rtol=1e-15)
    facts = json.loads(run("solve", "a.csv", "b.csv", "--certify", "--json")[1])
    assert np.array(facts["bound"], float).max() < 1e-30 and facts["certificate"]["contraction"] < 1
    facts = json.loads(run("solve", "a.csv", "b.csv", "--refine", "--json")[1])
    assert facts["refinement"]["format"] == "float64"
    assert "goes with neither" in run("solve", "a.csv", "b.csv", "--positive", "--refine")[2]
    _write("a.csv", "0,1\n1,0\n")
    assert run("solve", "a.csv", "b.csv")[0] == 0
    status, _, error = run("solve", "a.csv", "b.csv", "--positive")
    assert status == 2 and "not positive definite" in error
    head = "%%MatrixMarket matrix"
    _write("a.mtx", f"{head} coordinate complex hermitian\n2 2 3\n1 1 2 0\n2 1 0 1\n2 2 2 0\n")
    _write("b.mtx", f"{head} array complex general\n2 1\n3 0\n0 3\n")
    for words in ([], ["--positive"]):
        facts = json.loads(run("solve", "a.mtx", "b.mtx", "--device", "host", "--json", *words)[1])
        assert facts["format"] == "cdd"
        found = np.array([complex(v) for (v,) in facts["values"]])
        assert np.allclose(found, [1, 1j], atol=1e-15)


def test_demo(run: Run) -> None:
    """Quad-double reaches the certified digits, float64 about half of them."""
    pytest.importorskip("matplotlib")
    status, out, _ = run("demo", "--json", "--plot", "bars.png")
    fits = {f["format"]: f["digits"] for f in json.loads(out)["fits"]}
    assert status == 0
    assert len(fits["qd"]) == 11
    assert min(fits["qd"]) >= 14
    assert max(fits["float64"]) <= 11
    assert Path("bars.png").stat().st_size > 5000
    held = {f["format"]: f["hilbert"] for f in json.loads(out)["fits"]}
    assert held["float64"] == held["dd"] == 0 and 10 < held["td"] < 20 < held["qd"]
    told = run("demo")[1]
    assert "certified" in told and "Next: portmp demo linalg" in told


def test_demo_times_what_is_compiled(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A first fit compiles, the second one is timed."""
    made: list[float] = []

    def fit(*given: Any) -> Any:
        made.append(filip.time.perf_counter())
        return polynomial_fit(*given)

    polynomial_fit = filip.polynomial_fit
    monkeypatch.setattr(filip, "polynomial_fit", fit)
    monkeypatch.setattr(filip, "FORMATS", ("float64", "qd"))
    (_, last) = json.loads(run("demo", "--json")[1])["fits"]
    assert len(made) == 4 and last["seconds"] < filip.time.perf_counter() - made[3]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no/bars.png", "does not exist"),
        ("bars.doc", "'.doc'"),
        ("bars.pgn", "did you mean 'png'"),
        ("n" * 252 + ".png", "too long"),
    ],
)
def test_demo_checks_the_plot_before_the_fits(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    """Folder and extension: nothing is computed for a picture that cannot be written."""
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(filip, "run", pytest.fail)
    status, out, err = run("demo", "--plot", name)
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert message in err


def test_demo_without_matplotlib(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its absence is said before the fits."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.backend_bases", None)
    monkeypatch.setattr(filip, "run", pytest.fail)
    assert run("demo", "--plot", "bars.png")[::2] == (
        2,
        "portmp: error: --plot needs matplotlib: pip install matplotlib\n",
    )


def test_demo_prints_before_it_plots(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture that fails does not take the table with it."""
    pytest.importorskip("matplotlib")

    def fail(*arguments: object) -> None:
        raise InputError("--plot: disk full")

    monkeypatch.setattr(filip, "FORMATS", ("float64",))
    monkeypatch.setattr(filip, "plot", fail)
    status, out, err = run("demo", "--plot", "bars.png")
    assert status == 2
    assert "certified" in out
    assert "disk full" in err


@pytest.mark.parametrize(
    ("words", "extras"),
    [
        ([], "cpu,opencl"),
        (["--json"], "cpu,opencl"),
        (["--plot", "b.png"], "cpu,opencl,plot"),
        (["--json", "--plot=b.png"], "cpu,opencl,plot"),
    ],
)
def test_the_demo_script_installs_what_it_needs(
    tmp_path: Path, words: list[str], extras: str
) -> None:
    """matplotlib only for a picture."""
    script = Path(__file__).resolve().parents[1] / "ci" / "demo"
    (tmp_path / "ci").mkdir()
    (tmp_path / "ci" / "demo").write_bytes(script.read_bytes())
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    for name, text in (("ci/setup", 'echo "setup $*"'), (".venv/bin/portmp", 'echo "portmp $*"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    done = subprocess.run(
        ["bash", str(tmp_path / "ci" / "demo"), *words], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [f"setup {extras}", " ".join(["portmp demo", *words])]


def test_warnings_are_lines(run: Run) -> None:
    """Of the command, not of a place in Python's files."""
    rows = [",".join(f"1/{i + j + 1}" for j in range(24)) for i in range(24)]
    a, b = _write("a.csv", "\n".join(rows)), _write("b.csv", "\n".join("1" * 24))
    status, _, err = run("solve", a, b, "--format", "dd")
    assert status == 0
    assert re.fullmatch(r"portmp: warning: solve: a: the matrix is numerically singular: .*\n", err)


def test_demo_fails_without_its_digits(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit status 1 when quad-double misses."""
    monkeypatch.setattr(filip, "FORMATS", ("float64", "qd"))
    monkeypatch.setattr(filip, "agreeing_digits", lambda value, certified: 13)
    assert run("demo")[0] == 1


@pytest.mark.parametrize(
    ("value", "certified", "digits"),
    [
        ("1.00000000000000", "1.00000000000000", 15),
        ("1.49", "1.5", 2),
        ("-1.5", "1.5", 0),
        ("0.0012344999", "0.0012345", 7),
        ("9.9999", "10.0", 4),
        ("2", "1", 0),
    ],
)
def test_agreeing_digits(value: str, certified: str, digits: int) -> None:
    """Both are rounded to the same number of digits and compared."""
    from fractions import Fraction

    assert filip.agreeing_digits(Fraction(value), certified) == digits


def test_render(run: Run) -> None:
    """One kernel in three dialects, and their difference."""
    for platform, idiom in (
        ("cuda", "__fma_rn"),
        ("rocm", "threadIdx.x"),
        ("opencl", "get_local_id"),
    ):
        status, out, _ = run("render", "gemm", "--format", "td", "--platform", platform)
        assert status == 0
        assert idiom in out
    status, out, _ = run("render", "dot", "--platform", "cuda", "--diff", "opencl")
    assert out.split()[:3] == ["cuda", "|", "opencl"]
    _, out, _ = run("render", "gemm", "--device", tiers.opencl())
    assert "get_group_id" in out
    _, out, _ = run("render", "add", "--platform", "rocm", "--standalone")
    assert out.startswith("#include <hip/hip_runtime.h>")


def test_compile_on_the_device(run: Run) -> None:
    """The OpenCL driver's report."""
    tiers.opencl()
    status, out, _ = run("compile", "add", "--platform", "opencl", "--json")
    assert status == 0
    assert [r["name"] for r in json.loads(out)] == ["elementwise_add"]


def test_verify(run: Run) -> None:
    """0 where all digests are as recorded, and a report that can be sent."""
    status, out, _ = run("verify", "--format", "dd", "--routine", "add", "-o", "r.json")
    assert status == 0
    assert "as recorded" in out
    report = json.loads(Path("r.json").read_text())[0]
    assert report["passed"] == report["total"] == len(report["digests"]) == 4


def test_verify_in_several_processes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report is that of one process; one that ends early is told as such."""
    from portmp.verify import parallel

    words = ("verify", "--device", "reference", "--routine", "neg", "--json")
    status, out, _ = run(*words)
    again, side_by_side, _ = run(*words, "--jobs", "2")
    assert (status, again) == (0, 0)
    assert json.loads(out) == json.loads(side_by_side)
    monkeypatch.setattr(parallel, "MAIN", "import sys; sys.exit('stopped')")
    status, out, _ = run(*words[:5], "--format", "dd", "--jobs", "2")
    assert status == 1 and "the process for dd ended with status 1: stopped" in out
    status, _, error = run(*words, "--jobs", "0")
    assert status == 2 and "--jobs: 0 given" in error


def test_verify_fails_on_a_wrong_bit(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit status 1, and the case is named."""
    from portmp.verify import command

    monkeypatch.setattr(command, "recorded", dict)
    status, out, _ = run("verify", "--device", "reference", "--format", "dd", "--routine", "neg")
    assert status == 1
    assert f"differs: neg.{definition.VERSION}/dd.1/ordinary" in out


def test_verify_reports_a_refused_device(
    run: Run, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked for all, a refused one is an entry with its refusal and the status is 1."""
    from portmp.discovery import finding

    refused = device

    def get(name: str) -> None:
        raise DeviceError(f"{name}: does not round")

    monkeypatch.setattr(finding, "listed", lambda: [refused])
    monkeypatch.setattr(finding, "get", get)
    words = ["verify", "--device", "all", "--format", "dd", "--routine", "neg"]
    status, out, err = run(*words, "--json")
    reference, entry = json.loads(out)
    assert (status, err) == (1, "")
    assert reference["passed"] == reference["total"] == entry["total"]
    assert entry["refusal"] == f"{refused.name}: does not round"
    assert entry["device"]["selected"] == refused.name
    assert (entry["passed"], entry["digests"], entry["failures"]) == (0, {}, [])
    status, out, _ = run(*words)
    assert status == 1
    assert f"refused: {refused.name}: does not round" in out


def test_cache(run: Run) -> None:
    """Folder, files and bytes."""
    status, out, _ = run("cache", "--json")
    assert status == 0
    assert {"folder", "files", "bytes", "cleared"} == set(json.loads(out))


BAD_USE = {
    "unknown format": (["gemm", "a.csv", "a.csv", "--format", "dq"], "did you mean"),
    "unknown device": (["gemm", "a.csv", "a.csv", "--device", "opencl:99"], "does not exist"),
    "unknown option": (["gemm", "a.csv", "a.csv", "--fromat=qd"], "did you mean '--format'"),
    "unknown option of a part": (["bench", "blas", "--siez", "3"], "did you mean '--size'"),
    "unknown option alone": (["--versoin"], "did you mean '--version'"),
    "unknown routine": (["render", "gemn"], "did you mean"),
    "unknown platform": (["render", "gemm", "--platform", "cudda"], "did you mean 'cuda'"),
    "unknown architecture": (["compile", "add", "--platform", "cuda", "--arch", "sm_1"], "sm_1"),
    "missing file": (["gemm", "no.csv", "a.csv"], "cannot be read"),
    "wrong shapes": (["gemm", "a.csv", "tall.csv"], "cannot be multiplied"),
    "bad scalar": (["gemm", "a.csv", "a.csv", "--alpha", "x"], "alpha"),
    "beta without C": (["gemm", "a.csv", "a.csv", "--beta", "2"], "--beta"),
    "one plane": (["gemm", "a.csv", "a.csv", "-o", "c.npy"], "one plane"),
    "no folder": (["gemm", "a.csv", "a.csv", "-o", "no/c.csv"], "does not exist"),
    "singular": (["solve", "zero.csv", "a.csv"], "the pivot of column 0 is zero"),
    "one file": (["lstsq", "a.csv"], "two files"),
    "nothing to compile": (["compile"], "routine or --all"),
    "report without a folder": (["verify", "--routine", "neg", "-o", "no/r.json"], "not exist"),
    "long name": (["gemm", "a.csv", "a.csv", "-o", "n" * 252 + ".csv"], "too long"),
    "long report": (["verify", "--routine", "neg", "-o", "n" * 256], "too long"),
    "degree": (["lstsq", "yx.csv", "--polynomial", "3"], "degree 3 needs 4 points, 3 given"),
    "huge degree": (["lstsq", "yx.csv", "--polynomial", "9" * 12], "3 given"),
    "C of another shape": (
        ["gemm", "a.csv", "a.csv", "-C", "row.csv"],
        "-C row.csv: the shape is (1, 2), that of the product (2, 2)",
    ),
    "C of a transpose": (["gemm", "tall.csv", "a3.csv", "--trans-a", "-C", "a3.csv"], "(1, 2)"),
    "C and a bad product": (["gemm", "a.csv", "tall.csv", "-C", "a.csv"], "cannot be multiplied"),
    "no factor": (["gemm", "a.csv", "a.csv", "--alpha", "--trans-a"], "expected one argument"),
    "bad factor": (["gemm", "a.csv", "a.csv", "--alpha", "-1x"], "alpha: '-1x' is not a number"),
    "empty alpha": (["gemm", "a.csv", "a.csv", "--alpha", ""], "--alpha: is empty"),
    "empty beta": (["gemm", "a.csv", "a.csv", "-C", "a.csv", "--beta="], "--beta: is empty"),
    "empty format": (["gemm", "a.csv", "a.csv", "--format", ""], "--format: is empty"),
    "empty device": (["gemm", "a.csv", "a.csv", "--device", " "], "--device: is empty"),
    "empty output": (["lstsq", "a.csv", "a.csv", "-o", ""], "-o/--output: is empty"),
    "empty report": (["verify", "-o", ""], "-o/--output: is empty"),
    "empty C": (["gemm", "a.csv", "a.csv", "-C", ""], "-C: is empty"),
    "empty file": (["gemm", "", "a.csv"], "A: is empty"),
    "unknown case": (["verify", "--routine", "gem"], "did you mean"),
}


@pytest.mark.parametrize("case", BAD_USE)
def test_bad_use(run: Run, case: str) -> None:
    """Status 2, one line on standard error, nothing written."""
    _write("a.csv", "1,2\n3,4\n")
    _write("tall.csv", "1\n2\n3\n")
    _write("zero.csv", "0,0\n0,0\n")
    _write("yx.csv", "y,x\n1,0\n3,1\n5,2\n")
    _write("row.csv", "1,2\n")
    _write("a3.csv", "1,2\n3,4\n5,6\n")
    before = set(Path().iterdir())
    words, message = BAD_USE[case]
    status, out, err = run(*words)
    assert status == 2
    assert out == ""
    assert message in err
    assert err.startswith("portmp: error: ")
    assert len(err.strip().splitlines()) == 1
    assert set(Path().iterdir()) == before


def test_usage_errors(run: Run) -> None:
    """argparse's own errors have status 2 too."""
    assert run("gemm")[2] == "portmp: error: the following arguments are required: A, B\n"
    status, out, err = run("gem", "a", "b")
    assert (status, out) == (2, "")
    assert err.startswith("portmp: error: unknown command 'gem' (did you mean 'gemm'?)")
    assert len(err.splitlines()) == 1
    assert run("--version")[0] == 0


def test_out_of_memory_names_the_sizes(device: object) -> None:
    """The device's limit and what was asked for."""
    import portmp as mp
    from portmp.arrays.array import opened
    from portmp.errors import OutOfMemory
    from portmp.formats import get
    from portmp.runtime import planes

    queue = opened(get("qd"), None)
    with pytest.raises(OutOfMemory, match=rf"{32 * 10**15} bytes asked for.*\d+"):
        planes.allocate(get("qd"), (10**15,), queue)
    assert mp.array(1).size == 1


def test_missing_package_is_explained(tmp_path: Path) -> None:
    """Without pyopencl the command says what installs it; no traceback."""
    (tmp_path / "pyopencl.py").write_text("raise ImportError('not here')\n")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-m", "portmp", "demo", "--device", "opencl"],
        capture_output=True,
        text=True,
        env=env,
        check=False,
    )
    assert done.returncode == 2
    assert "pip install '.[opencl]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_format_follows_the_planes(run: Run) -> None:
    """Without --format a .npz keeps the format that it names."""
    _write("a.csv", "0.1\n")
    run("gemm", "a.csv", "a.csv", "--format", "qd", "-o", "c.npz")
    assert json.loads(run("gemm", "c.npz", "c.npz", "--json")[1])["format"] == "qd"
    assert json.loads(run("gemm", "a.csv", "c.npz", "--json")[1])["format"] == "qd"
    assert json.loads(run("gemm", "a.csv", "a.csv", "--json")[1])["format"] == "dd"


def test_formats_never_mix_silently(run: Run) -> None:
    """Files of different formats need --format: none of them is rounded without a word."""
    _write("a.csv", "0.1\n")
    for form in ("dd", "qd"):
        run("gemm", "a.csv", "a.csv", "--format", form, "-o", f"{form}.npz")
    for words in (
        ["gemm", "dd.npz", "qd.npz"],
        ["gemm", "dd.npz", "a.csv", "-C", "qd.npz"],
        ["lstsq", "qd.npz", "dd.npz"],
    ):
        status, out, err = run(*words)
        assert (status, out, len(err.splitlines())) == (2, "", 1)
        assert "dd.npz holds dd" in err and "qd.npz holds qd" in err and "--format" in err
        assert run(*words, "--format", "td", "--json")[0] == 0


def test_output_of_numpy_is_not_touched(run: Run) -> None:
    """A float64 product written as .npy is an ordinary NumPy file."""
    np.save("a.npy", np.array([[2.0]]))
    assert run("gemm", "a.npy", "a.npy", "--format", "float64", "-o", "c.npy")[0] == 0
    assert np.load("c.npy").tolist() == [[4.0]]


@pytest.mark.parametrize(
    ("factor", "value"),
    [
        ("-1e-3", "-0.001"),
        ("-1/3", None),
        ("-inf", "-inf"),
        ("-.5", "-0.5"),
        ("-0x1p3", "-8.0"),
        ("-NaN", "nan"),
        ("-2", "-2.0"),
    ],
)
def test_negative_factors(run: Run, factor: str, value: str | None) -> None:
    """Every number that a factor may be, apart from its option or attached to it."""
    _write("a.csv", "1\n")
    for words in (["--alpha", factor], [f"--alpha={factor}"]):
        status, out, err = run("gemm", "a.csv", "a.csv", *words, "--json")
        assert (status, err) == (0, "")
        assert json.loads(out)["values"] == [[value or "-" + _third()]]
    status, out, err = run(
        "gemm", "a.csv", "a.csv", "--alpha", "0", "-C", "a.csv", "--beta", factor, "--json"
    )
    assert json.loads(out)["values"] == [[value or "-" + _third()]]


def test_the_default_device_is_marked(run: Run, device: Device) -> None:
    status, out, _ = run("devices")
    lines = out.splitlines()
    (place,) = [i for i, line in enumerate(lines) if line.endswith(", the default")]
    assert status == 0 and lines[place - 1].split()[0] == device.name


def _third() -> str:
    return mp.array("1/3").to_strings("round-trip")


def test_large_results_are_printed_whole(run: Run) -> None:
    """Every value on standard output, as a .csv file would hold it."""
    rng = np.random.default_rng(1)
    np.save("a.npy", rng.standard_normal((40, 3)))
    assert run("gemm", "a.npy", "a.npy", "--trans-b", "-o", "c.csv")[0] == 0
    status, out, _ = run("gemm", "a.npy", "a.npy", "--trans-b")
    assert status == 0
    assert out == Path("c.csv").read_text()
    assert [len(line.split(",")) for line in out.splitlines()] == [40] * 40
    np.save("batch.npy", np.ones((2, 30, 20)))
    np.save("b.npy", np.eye(20))
    assert run("gemm", "batch.npy", "b.npy")[1] == 60 * (",".join(["1.0"] * 20) + "\n")


def test_bad_products_keep_their_own_words(run: Run) -> None:
    """With C, too: vectors and batches that do not fit."""
    np.save("vector.npy", np.ones(2))
    for count in (2, 3):
        np.save(f"batch{count}.npy", np.ones((count, 2, 2)))
    for a, b, message in (
        ("vector", "batch2", "cannot be multiplied"),
        ("batch2", "vector", "cannot be multiplied"),
        ("batch2", "batch3", "batches (2,) and (3,) differ"),
    ):
        status, out, err = run("gemm", f"{a}.npy", f"{b}.npy", "-C", "batch2.npy")
        assert (status, out) == (2, "")
        assert message in err


def test_json_beside_a_file(run: Run) -> None:
    """What was written where, without the values."""
    _write("a.csv", "1,2\n3,4\n")
    status, out, _ = run("gemm", "a.csv", "a.csv", "--json", "-o", "c.npz")
    assert status == 0
    assert json.loads(out) == {"output": "c.npz", "format": "dd", "shape": [2, 2]}


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    """Output that cannot be written is a failure with words, not a traceback."""
    (tmp_path / "a.csv").write_text("1\n")
    for words in (["gemm", "a.csv", "a.csv"], ["render", "gemm"]):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [sys.executable, "-m", "portmp", *words],
                cwd=tmp_path,
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        assert done.returncode == 2
        *told, last = done.stderr.splitlines()
        assert last == "portmp: error: standard output: No space left on device"
        assert all(line.startswith("portmp: ") for line in told)  # of devices that are refused


@pytest.mark.parametrize("name", ["solve", "lstsq"])
def test_linear_algebra_names_what_is_no_array(name: str) -> None:
    """What is neither an array nor a list is refused with the way to an Array; lists are taken."""
    routine = getattr(mp.linalg, name)
    good = mp.array([[1]])
    for a, b, argument in ((None, [1], "a"), (good, {1: 1}, "b"), ("1", good, "a")):
        with pytest.raises(ArgumentError, match=rf"{name}: {argument}: .*portmp.array"):
            routine(a, b)
    found = routine([[2]], [1])
    assert float(found if isinstance(found, mp.Array) else found[0]) == 0.5


def test_progress_names_the_step(capsys: pytest.CaptureFixture[str]) -> None:
    """What is inside of long work says where it is; outside of any, nothing is kept."""
    progress.doing("nothing")
    with progress.lasting("solve", True):
        progress.doing("factors in float64")
        line = progress._running[-1]
        assert line.step == "factors in float64"
        time.sleep(progress.PATIENCE + 0.3)
    assert "solve, factors in float64: 2 s" in capsys.readouterr().err
    assert not progress._running
