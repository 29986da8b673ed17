"""The process in which hiprtc runs: hiprtc 5.2 aborts its process for newer architectures.

Writes one line of JSON, ``{"version": ...}`` or ``{"unavailable": reason}``; then reads lines
``[source, [option, ...]]`` from standard input until it ends, and answers each with a line
``{"code": base64}`` or ``{"error": log}``.
"""

import base64
import json
import os
import resource
import sys
from typing import Any, BinaryIO


def _take_output() -> BinaryIO:
    """The standard output for answers alone: whatever the compiler prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def _answer(stream: BinaryIO, content: dict[str, str]) -> None:
    stream.write(json.dumps(content).encode() + b"\n")
    stream.flush()


def _contents(size: Any, fill: Any, program: Any) -> bytes:
    """Bytes from a pair of functions: one tells the size, one fills a buffer."""
    _, count = size(program)
    content = bytearray(int(count))
    if content:
        fill(program, content)
    return bytes(content)


def _compile(hiprtc: Any, source: str, options: list[str]) -> dict[str, str]:
    """Compile one source; the answer holds the code or the compiler's log."""
    status, program = hiprtc.hiprtcCreateProgram(source.encode(), b"kernel.hip", 0, None, None)
    if int(status):
        return {"error": f"hiprtcCreateProgram: {status}"}
    words = [option.encode() for option in options]
    (status,) = hiprtc.hiprtcCompileProgram(program, len(words), words)
    if int(status):
        log = _contents(hiprtc.hiprtcGetProgramLogSize, hiprtc.hiprtcGetProgramLog, program)
        answer = {"error": log.rstrip(b"\0").decode(errors="replace").strip() or str(status)}
    else:
        code = _contents(hiprtc.hiprtcGetCodeSize, hiprtc.hiprtcGetCode, program)
        answer = {"code": base64.b64encode(code).decode()}
    # C takes the handle's address here; passing the handle itself crashes.
    hiprtc.hiprtcDestroyProgram(program.createRef())
    return answer


def _version(hiprtc: Any) -> str:
    status, major, minor = hiprtc.hiprtcVersion()
    if int(status):
        raise RuntimeError(f"hiprtcVersion: {status}")
    return f"{major}.{minor}"


def main() -> None:
    """Answer the lines on standard input."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers = _take_output()
    try:
        from hip import hiprtc

        _answer(answers, {"version": _version(hiprtc)})
    except Exception as error:  # anything here means: hiprtc is not usable
        _answer(answers, {"unavailable": f"{type(error).__name__}: {error}"})
        return
    for line in sys.stdin:
        _answer(answers, _compile(hiprtc, *json.loads(line)))


if __name__ == "__main__":
    main()
