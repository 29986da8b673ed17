"""All routines: a new one is a folder beside the others, and a line here."""

from portmp.formats import Format
from portmp.routines.cholesky.routine import Cholesky
from portmp.routines.complexes.routine import Complexes
from portmp.routines.conversions.routine import Conversions
from portmp.routines.elementwise.routine import Elementwise
from portmp.routines.exact.routine import Exact
from portmp.routines.fourier.routine import Fourier
from portmp.routines.functions.routine import Functions
from portmp.routines.gemm.routine import Gemm
from portmp.routines.gravity.routine import Gravity
from portmp.routines.jacobi.routine import Jacobi
from portmp.routines.ldl.routine import Ldl
from portmp.routines.lu.routine import Lu
from portmp.routines.order.routine import Order
from portmp.routines.ozaki.routine import Ozaki
from portmp.routines.plain.routine import Plain
from portmp.routines.qr.routine import Qr
from portmp.routines.random.routine import Random
from portmp.routines.reduce.routine import Reduce
from portmp.routines.routine import Routine
from portmp.routines.scan.routine import Scan
from portmp.routines.schur.routine import Schur
from portmp.routines.sparse.routine import Sparse
from portmp.routines.split2021.routine import Split2021
from portmp.routines.triangular.routine import Triangular

_ALL: tuple[Routine, ...] = (
    # in the order in which their kernels are listed
    Gemm(),
    Ozaki(),
    Reduce(),
    Exact(),
    Elementwise(),
    Functions(),
    Complexes(),
    Random(),
    Gravity(),
    Split2021(),
    Triangular(),
    Lu(),
    Cholesky(),
    Ldl(),
    Qr(),
    Schur(),
    Sparse(),
    Jacobi(),
    Scan(),
    Fourier(),
    Order(),
    Conversions(),
    Plain(),
)

ROUTINES = {routine.name: routine for routine in _ALL}


def of(form: Format) -> list[Routine]:
    """The routines that a format has."""
    found = [routine for routine in _ALL if form.kind in routine.kinds]
    return [routine for routine in found if routine.stored or not form.coded]
