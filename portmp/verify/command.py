"""``portmp verify``: run the cases on devices, compare digests, print a table."""

import datetime
import json
import platform as host_platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import portmp as mp
from portmp import definition, discovery
from portmp.backends.base import Device
from portmp.codegen import render
from portmp.errors import ArgumentError, PortmpError
from portmp.files import target as targets
from portmp.progress import Progress
from portmp.routines.case import Case
from portmp.runtime.digests import digest
from portmp.verify import parallel, ranks
from portmp.verify.cases import REFERENCE, device_result, recorded, selected
from portmp.verify.outcome import Outcome

# --- running ------------------------------------------------------------------------------


def run(
    device: Device | None, chosen: Sequence[Case], progress: Progress | None = None
) -> list[Outcome]:
    """Run cases on a device, or on the host reference (None)."""
    outcomes = []
    line = progress or Progress(False)
    name = device.name if device else REFERENCE
    shown = time.monotonic()
    for i, case in enumerate(chosen):
        if time.monotonic() - shown > 1:
            shown = time.monotonic()
            line.show(f"verify {name}: {i}/{len(chosen)} {case.key}")
        expected = recorded().get(case.key, "")
        try:
            planes = device_result(case, device) if device else case.host_result()
            outcomes.append(Outcome(case.key, digest(planes), expected))
        except PortmpError as error:
            outcomes.append(Outcome(case.key, "", expected, str(error)))
    line.clear()
    return outcomes


def report(device: Device | None, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """What an owner of a device can send: device, versions, every digest."""
    facts = (
        {
            "selected": device.name,
            **device.properties.as_dict(),
            "compiler": device.compiler_key(),
            **({"remark": device.remark} if device.remark else {}),
        }
        if device
        else {"selected": REFERENCE, "name": REFERENCE}
    )
    return {
        "portmp": mp.__version__,
        "definition": definition.VERSION,
        "templates": render.templates_digest(),
        "date": datetime.date.today().isoformat(),
        "host": {"machine": host_platform.machine(), "python": host_platform.python_version()},
        "device": facts,
        "passed": sum(o.ok for o in outcomes),
        "total": len(outcomes),
        "failures": [vars(o) for o in outcomes if not o.ok],
        "digests": {o.key: o.digest for o in outcomes},
    }


def table(outcomes: Sequence[Outcome]) -> str:
    """Routine x format: how many cases agree."""
    rows: dict[str, dict[str, list[bool]]] = {}
    columns: dict[str, None] = {}
    for o in outcomes:
        routine, form, _ = o.key.split("/")
        routine, form = routine.rsplit(".", 1)[0], form.rsplit(".", 1)[0]
        columns[form] = None
        rows.setdefault(routine, {}).setdefault(form, []).append(o.ok)
    widths = {c: max(len(c), 5) for c in columns}
    lines = [" " * 12 + " ".join(f"{c:>{widths[c]}}" for c in columns)]
    for routine, cells in rows.items():
        texts = []
        for c in columns:
            oks = cells.get(c, [])
            text = "-" if not oks else f"{sum(oks)}" if all(oks) else f"{sum(oks)}/{len(oks)}!"
            texts.append(f"{text:>{widths[c]}}")
        lines.append(f"{routine:12}" + " ".join(texts))
    return "\n".join(lines)


def _targets(wanted: str | None) -> list[tuple[Device | None, str]]:
    """The devices asked for (None is the host reference), each with its refusal or nothing."""
    if wanted == REFERENCE:
        return [(None, "")]
    if wanted != "all":
        return [(discovery.get(wanted), "")]
    return [(None, ""), *discovery.opened()]


def _show(
    device: Device | None, outcomes: Sequence[Outcome], refusal: str, on: Sequence[str]
) -> None:
    """A device's results on standard output; *on* which devices processes had them."""
    name = f"{device.name} ({device.properties.name})" if device else "host reference"
    if on:
        ranks_of = {one: [str(r) for r, name in enumerate(on) if name == one] for one in on}
        places = [f"ranks {', '.join(found)} on {one}" for one, found in ranks_of.items()]
        name = f"{len(on)} processes on {name}; {', '.join(places)}"
    if refusal:
        print(f"{name}: refused: {refusal}\n")
        return
    failures = [o for o in outcomes if not o.ok]
    print(f"{name}: {len(outcomes) - len(failures)} of {len(outcomes)} digests as recorded")
    print(table(outcomes) + "\n")
    if device and device.remark:
        print(f"{device.remark}\n")
    for failure in failures[:20]:
        print(f"  differs: {failure.key} {failure.error}")


def command(args: Any) -> int:
    """``portmp verify``: 0 if every digest is the recorded one, else 1."""
    chosen = selected(args.format, args.routine)
    if args.ranks is not None:
        if args.ranks < 1 or args.jobs > 1:
            raise ArgumentError(
                f"--ranks: {args.ranks} given, 1 or more are allowed, without --jobs"
            )
        chosen = [case for case in chosen if case.routine in ranks.ROUTINES]
        if not chosen:
            raise ArgumentError(
                "--ranks: given with a routine or a format without cases on several devices; "
                f"routines are {', '.join(ranks.ROUTINES)}"
            )
        args.device = args.device or "cpu"
    target = Path(args.output) if args.output else None
    if target:
        targets.check_place(target)
    if args.jobs < 1:
        raise ArgumentError(f"--jobs: {args.jobs} given, 1 or more are allowed")
    reports = []
    for device, refusal in _targets(args.device):
        outcomes: list[Outcome] = []
        on: list[str] = []
        progress = Progress(sys.stderr.isatty())
        if not refusal and args.ranks is not None:
            one = device.name if device else "host:0"
            one = args.device if args.device in discovery.BACKENDS else one
            outcomes, on = ranks.run(one, chosen, args.ranks)
        elif not refusal and args.jobs > 1:
            name = device.name if device else REFERENCE
            outcomes = parallel.run(name, chosen, args.routine, args.jobs, progress)
        elif not refusal:
            outcomes = run(device, chosen, progress)
        refused = {"total": len(chosen), "refusal": refusal} if refusal else {}
        refused |= {} if args.ranks is None else {"ranks": args.ranks, "devices": on}
        reports.append(report(device, outcomes) | refused)
        if not args.json:
            _show(device, outcomes, refusal, on)
    text = json.dumps(reports, indent=1)
    if target:
        targets.replace(target, (text + "\n").encode())
    if args.json:
        print(text)
    return 0 if all(r["passed"] == r["total"] for r in reports) else 1
