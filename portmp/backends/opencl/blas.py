"""CLBlast, the BLAS of OpenCL devices, through pyclblast where that is installed."""

from typing import Any

from portmp.backends.base import Library, Multiplication, Queue, Rows
from portmp.errors import ArgumentError, BackendUnavailable, DeviceError

_INSTALL = (
    "install CLBlast (on Debian and Ubuntu apt-get install libclblast-dev) "
    "and pip install pyclblast"
)


class Clblast(Library):
    """float32 and float64 products on the queues of pyopencl.

    Its kernels are compiled anew in every process, and not tuned for all devices.
    """

    name = "CLBlast"
    preferred = False

    def __init__(self) -> None:
        try:
            import pyclblast
        except ImportError as error:
            raise BackendUnavailable(f"pyclblast is missing ({error}); {_INSTALL}") from error
        self._library: Any = pyclblast

    def multiply(self, queue: Queue, asked: Multiplication) -> None:
        word, m, n, k, a, b, c, batch = asked
        handle = _handle(queue)
        matrices = [_array(handle, v, word, 2) for v in (a, b, c)]
        for each in range(batch):
            places = (v.start + each * v.batch for v in (a, b, c))
            offsets = dict(zip(("a_offset", "b_offset", "c_offset"), places, strict=True))
            try:
                self._library.gemm(
                    handle, m, n, k, *matrices, a.row, b.row, c.row, b_transp=True, **offsets
                )
            except RuntimeError as error:
                raise DeviceError(f"CLBlast: {error}") from error

    def axpy(self, queue: Queue, word: str, n: int, alpha: float, x: Rows, y: Rows) -> None:
        handle = _handle(queue)
        vectors = [_array(handle, v, word, 1) for v in (x, y)]
        try:
            self._library.axpy(handle, n, *vectors, alpha=alpha, x_offset=x.start, y_offset=y.start)
        except RuntimeError as error:
            raise DeviceError(f"CLBlast: {error}") from error

    def gemv(self, queue: Queue, word: str, m: int, n: int, a: Rows, x: Rows, y: Rows) -> None:
        handle = _handle(queue)
        operands = [_array(handle, v, word, axes) for v, axes in ((a, 2), (x, 1), (y, 1))]
        starts = {"a_offset": a.start, "x_offset": x.start, "y_offset": y.start}
        try:
            self._library.gemv(handle, m, n, *operands, a.row, **starts)
        except RuntimeError as error:
            raise DeviceError(f"CLBlast: {error}") from error


def _handle(queue: Queue) -> Any:
    handle: Any = getattr(queue, "queue", None)
    if handle is None:
        raise ArgumentError("CLBlast: the queue is of another platform")
    return handle


def _array(handle: Any, rows: Rows, word: str, axes: int) -> Any:
    """Memory as the bindings take it: they ask for its kind and its axes only."""
    from pyopencl import array

    buffer: Any = rows.buffer
    return array.Array(handle, (1,) * axes, word, data=buffer.mem)
