"""Machines on which the probe refuses devices: they are no devices anywhere, and tests pass.

tests/refusing.py stands in for their drivers.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import refusing
from slow import mostly_slow

from portmp import discovery
from portmp.backends.opencl.runtime import ClDevice

TESTS = Path(__file__).parent

NOWHERE = """
import os
import numpy as np
import pytest
import tiers
import portmp as mp
from portmp import discovery
from portmp.arrays import exchange
from portmp.errors import DeviceError

there = discovery.find("opencl").devices
refused = [d for d, why in discovery.opened() if "refused" in why]
version = os.environ["REFUSED_OPENCL"]
assert refused and refused == [d for d in there if version in d.handle.platform.version]
assert mp.devices() == discovery.devices() == [d for d in discovery.listed() if d not in refused]
assert mp.__array_namespace_info__().devices() == mp.devices()
usual = mp.array([1, 2], "float64")
assert usual.device is discovery.get() and usual.device not in refused

# DLPack: to each device that the standard's list has; memory of one that is refused is nobody's.
for device in mp.devices():
    assert mp.from_dlpack(np.arange(3.0), device=device).tolist() == [0, 1, 2]
for number, device in enumerate(discovery.listed()):
    device.dlpack_type = 1000 + number
    assert (exchange.device_of(1000 + number) is None) == (device in refused)

# Messages name what there is.
for call in (
    lambda: discovery.get("no such device"),
    lambda: discovery.get("opencl:77"),
    lambda: mp.Kernel("", "k(y: out [n])", threads="n")(mp.zeros(2, device="host")),
):
    with pytest.raises(mp.PortmpError) as caught:
        call()
    assert not any(d.name in str(caught.value) for d in refused), caught.value

# Tiers: what is refused is skipped with the reason, what is missing fails a run that needs it.
tiers._PROBES |= {
    "pocl": lambda: tiers._opencl(lambda platform: version in platform),
    "intel": lambda: tiers._opencl(lambda platform: "no such driver" in platform),
}
os.environ["PORTMP_REQUIRE"] = "pocl,intel"
with pytest.raises(pytest.skip.Exception, match="is refused: "):
    tiers.check("pocl")
with pytest.raises(pytest.fail.Exception, match="not among the OpenCL platforms"):
    tiers.check("intel")
"""

PASSING = (
    "test_backends.py::test_unknown_devices",
    "test_backends.py::test_copies_between_devices",
    "test_cli.py::test_devices",
    "test_exchange.py::test_devices_and_formats_of_a_block",
    "test_faults.py::test_a_process_that_used_no_driver_may_fork",
    "test_porting_entries.py::test_evidence[launch/exact-block]",
    "test_programs.py::test_opencl_programs_pass[nbody-float32]",
    "test_render.py::test_compile_errors_of_drivers",
)
"""Tests of each kind of what once took every device that is listed for one that works."""


@pytest.mark.parametrize("which", mostly_slow(["first", "all"], ["first"], "one, or each of them"))
def test_a_refused_device_is_no_device(which: str, tmp_path: Path) -> None:
    """The default one of several, and all that run kernels: what is left then is the host."""
    default = discovery.find("opencl").devices[0]
    assert isinstance(default, ClDevice)
    version = default.handle.platform.version if which == "first" else "OpenCL"
    environment = refusing.settings(version, tmp_path)
    if environment is None:
        pytest.skip("the stand-in needs a C compiler, on Linux")
    environment["PYTHONPATH"] = f"{TESTS.parent}:{TESTS}"
    inside = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"]
    for command in (
        [sys.executable, "-c", NOWHERE],
        [*inside, *(str(TESTS / name) for name in PASSING)],
    ):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
