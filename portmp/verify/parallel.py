"""Cases of all formats in several processes, a format each: compilers work side by side."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from portmp import paths
from portmp.progress import Progress
from portmp.routines.case import Case
from portmp.verify.cases import recorded
from portmp.verify.outcome import Outcome, read

MAIN = "import sys; from portmp.cli import main; sys.exit(main(sys.argv[1:]))"


def run(
    device: str, chosen: Sequence[Case], routine: str | None, jobs: int, progress: Progress
) -> list[Outcome]:
    """The cases' outcomes on a device, by at most *jobs* processes at once."""
    formats = list(dict.fromkeys(case.form.name for case in chosen))
    found: dict[str, Outcome] = {}
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        waiting = {pool.submit(_part, device, form, routine): form for form in formats}
        for done, part in enumerate(as_completed(waiting), 1):
            form = waiting[part]
            keys = [case.key for case in chosen if case.form.name == form]
            found |= {one.key: one for one in _outcomes(keys, *part.result())}
            progress.show(f"verify {device}: {done}/{len(formats)} formats, {form} done")
    progress.clear()
    return [found[case.key] for case in chosen]


def _part(device: str, form: str, routine: str | None) -> tuple[dict[str, Any], str]:
    """A process's report of a format, or why there is none."""
    words = ["verify", "--device", device, "--format", form]
    words += ["--routine", routine] if routine else []
    # Of this portmp, whatever the current folder or another installation has.
    environment = os.environ | {"PYTHONPATH": paths.python_path()}
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "report.json"
        ended = subprocess.run(
            [sys.executable, "-P", "-c", MAIN, *words, "-o", str(written)],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            env=environment,
        )
        if written.exists():
            (found,) = json.loads(written.read_text())
            return found, ""
    told = ended.stderr.strip().splitlines() or ["it wrote no report"]
    return {}, f"the process for {form} ended with status {ended.returncode}: {told[-1][:200]}"


def _outcomes(keys: Iterable[str], report: dict[str, Any], error: str) -> list[Outcome]:
    known = {one.key: one for one in read(report)} if report else {}
    return [
        known.get(key) or Outcome(key, "", recorded().get(key, ""), error or "no result")
        for key in keys
    ]
