"""What type checkers know of portmp: users' scripts, mistakes in one, calls of all functions."""

import inspect
import re
import runpy
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import portmp as mp

SCRIPTS = Path(__file__).parent / "typed_scripts"
ROOT = SCRIPTS.parents[1]
WRONG = SCRIPTS / "wrong.py"
MISTAKES = {
    6: 'Too many positional arguments for "__call__" of "OfOne"',
    7: 'expression has type "Array", variable has type "PlainArray"',
    8: '"Array" has no attribute "to_string"; maybe "to_strings"?',
    9: 'incompatible type "dict[str, int]"',
    10: 'expression has type "Array", variable has type "PlainArray"',
}
"""By lines of the script that has them."""

GIVEN = """\
import portmp as mp

x = mp.array([3, 1, 2], "float64", "host")
m = mp.array([[4, 1], [1, 3]], "float64", "host")
z = mp.array(["1+2j", "3"], "complex128", "host")
n = x.astype("int64")
t = x > 1
"""
VALUES = ("x", "m", "z", "x, x", "m, m", "z, z")
CALLS = (*VALUES, "n", "n, n", "x, n", "n, x", "t, x, x", "t, n, n", "[x, x]", "[n, n]")
CALLS += ("x, 2", "n, 2", "x, 'int64'")
METHODS = ("", "0", "x", "n", "'int64'", "'dd'", "bound=True", "dtype='dd'")
OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "@", "<", "==", "&")
ELSEWHERE = {"device", "devices", "load", "memory", "pinned", "queue", "save", "shard"}
ELSEWHERE |= {"give_memory_back", "set_printoptions", "seterr", "errstate", "printoptions"}
IN_PLACE = {"fill", "partition", "put", "read_into", "sort", "write_from", "planes", "pieces"}
UNTOLD = {"block", "from_dlpack", "gradient", "polydiv"}
UNTOLD |= {"unique_all", "unique_counts", "unique_inverse"}
"""What they give, or the first of it, depends on more than types."""
HOST = {"item", "tolist", "to_fractions", "to_mpmath", "to_strings"}
"""Nested lists or one number."""


def test_scripts_are_checked(checked: list[tuple[str, int, str, str]]) -> None:
    """mypy, as strict as it can be, has nothing to say but of the mistakes."""
    said = [(n, text) for name, n, what, text in checked if what == "error" and name == WRONG.name]
    assert len(list(SCRIPTS.glob("*.py"))) > 10
    others = {name for name, _, what, _ in checked if what == "error"} - {WRONG.name, "all.py"}
    assert not others
    assert [line for line, _ in said] == list(MISTAKES)
    for line, text in said:
        assert MISTAKES[line] in text


@pytest.mark.parametrize("script", sorted(SCRIPTS.glob("*.py")), ids=lambda path: path.stem)
def test_scripts_run(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is said to be right is."""
    if script == WRONG:
        with pytest.raises(mp.PortmpError, match="out: tuple given"):
            runpy.run_path(str(script))
    else:
        runpy.run_path(str(script))
        assert capsys.readouterr().out


@pytest.fixture(scope="module")
def done() -> list[tuple[str, Any]]:
    """Calls of all public functions, methods and operators that do something, and what they give.

    Calls that raise an error are left out.
    """
    known: dict[str, Any] = {}
    exec(GIVEN, known)
    texts = []
    for place, module in (("mp", mp), ("mp.linalg", mp.linalg), ("mp.fft", mp.fft)):
        for name in sorted(dir(module)):
            function = getattr(module, name)
            usual = not (name.startswith("_") or name in ELSEWHERE or inspect.isclass(function))
            if usual and callable(function) and not inspect.ismodule(function):
                texts += [f"{place}.{name}({given})" for given in CALLS]
    for one in "xmzn":
        for name in [name for name in dir(known[one]) if not name.startswith("_")]:
            given = METHODS if callable(getattr(mp.Array, name, None)) else ()
            usual = name not in IN_PLACE
            texts += [f"{one}.{name}({more})" for more in given if usual]
            texts += [f"{one}.{name}"] if usual and not given else []
        texts += [f"{one} {op} {x}" for op in OPERATORS for x in ("x", "n", "z", "2", "'0.5'")]
        texts += [f"-{one}", f"abs({one})", f"divmod({one}, {one})"]
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for text in texts:
            try:
                found.append((text, eval(text, dict(known))))
            except Exception:  # operands that it does not take
                continue
    return found


@pytest.fixture(scope="module")
def checked(
    done: list[tuple[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> list[tuple[str, int, str, str]]:
    """What mypy says of all scripts, and of calls of all functions: file, line, kind, text."""
    pytest.importorskip("mypy")
    script = tmp_path_factory.mktemp("types") / "all.py"
    script.write_text(GIVEN + "".join(f"reveal_type({text})\n" for text, _ in done))
    given = [*map(str, sorted(SCRIPTS.glob("*.py"))), str(script)]
    words = ["-m", "mypy", "--strict", "--config-file", "pyproject.toml", "--no-error-summary"]
    run = subprocess.run(
        [sys.executable, *words, *given], cwd=ROOT, check=False, capture_output=True, text=True
    )
    said = re.findall(r"^(.*?):(\d+): (error|note): (.*)", run.stdout, re.M)
    assert said, run.stdout + run.stderr
    return [(Path(path).name, int(line), what, text) for path, line, what, text in said]


def test_types_are_those_at_run_time(
    done: list[tuple[str, Any]], checked: list[tuple[str, int, str, str]]
) -> None:
    """What mypy says that a call gives is what it gives; of arrays of values it always says it."""
    start, wrong = GIVEN.count("\n") + 1, []
    told = {n: text for name, n, _, text in reversed(checked) if name == "all.py"}
    assert len(done) > 1500
    for line, (text, value) in enumerate(done, start):
        name = re.findall(r"\.(\w+)", text)[-1:] or [""]
        shown = re.match(r'Revealed type is "(.*)"$', told[line])
        if shown is None:
            if text.endswith(("(x)", "(m)", "(z)", "(n)")) and not text.startswith(tuple("xmzn")):
                wrong.append(f"{text}: {told[line]}")
            continue
        type_ = re.sub(r"\b(?:\w+\.)+", "", shown[1])
        type_ = re.sub(r"\b(ndarray|dtype)\[Any(, Any|, dtype\[Any\])?\]", r"\1", type_)
        if "Any" in type_:
            of_values = text.endswith(tuple(f"({v})" for v in VALUES)) or not text.startswith("mp")
            if of_values and "n" not in re.findall(r"\b[a-z]\b", text) and "'" not in text:
                known = name[0] in UNTOLD | HOST or text.startswith("z.")
                wrong += [] if known else [f"{text}: {type_}"]
        elif not fits(value, type_) and not text.startswith("2 =="):
            wrong.append(f"{text}: {type_}, {type(value).__name__} at run time")
    assert not wrong, "\n".join(wrong)


def fits(value: Any, told: str) -> bool:
    """Whether a value is of a type as mypy writes it, as far as arrays are concerned."""
    if value is None:
        return told == "None"
    if "fallback=" in told:  # named tuples
        return type(value).__name__ in told
    if " | " in told:
        return any(fits(value, one) for one in told.split(" | "))
    if isinstance(value, mp.Array | mp.PlainArray):
        return type(value).__name__ in (told, told.replace("Array", "Scalar"))
    if isinstance(value, tuple | list) and told.startswith(("tuple[", "list[")):
        inner = told[told.index("[") + 1 : -1].replace(", ...", "")
        parts = inner.split(", ") if inner.count(", ") == len(value) - 1 else [inner] * len(value)
        return all(fits(one, part) for one, part in zip(value, parts, strict=True))
    return any(kind.__name__ == told for kind in type(value).__mro__) or not told[0].isupper()
