"""What type checkers know of portmp: scripts as users write them, and mistakes in one."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

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


def test_scripts_are_checked() -> None:
    """mypy, as strict as it can be, has nothing to say but of the mistakes."""
    pytest.importorskip("mypy")
    given = sorted(SCRIPTS.glob("*.py"))
    assert len(given) > 10
    words = ["-m", "mypy", "--strict", "--config-file", "pyproject.toml", "--no-error-summary"]
    done = subprocess.run(
        [sys.executable, *words, *map(str, given)],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    said = re.findall(r"^(.*?):(\d+): error: (.*)", done.stdout, re.M)
    assert {Path(path).name for path, _, _ in said} == {WRONG.name}, done.stdout + done.stderr
    assert [int(line) for _, line, _ in said] == list(MISTAKES)
    for _, line, text in said:
        assert MISTAKES[int(line)] in text


@pytest.mark.parametrize("script", sorted(SCRIPTS.glob("*.py")), ids=lambda path: path.stem)
def test_scripts_run(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is said to be right is."""
    if script == WRONG:
        with pytest.raises(mp.PortmpError, match="out: tuple given"):
            runpy.run_path(str(script))
    else:
        runpy.run_path(str(script))
        assert capsys.readouterr().out
