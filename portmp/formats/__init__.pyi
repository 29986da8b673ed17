"""The names of ``portmp.formats``, and where they are."""

from portmp.formats.registry import ACCURACIES as ACCURACIES
from portmp.formats.registry import COMPLEX as COMPLEX
from portmp.formats.registry import NAMES as NAMES
from portmp.formats.registry import NUMPYS as NUMPYS
from portmp.formats.registry import ROLES as ROLES
from portmp.formats.registry import ROUNDINGS as ROUNDINGS
from portmp.formats.registry import STANDARD as STANDARD
from portmp.formats.registry import STORAGE as STORAGE
from portmp.formats.registry import STORED as STORED
from portmp.formats.registry import Accumulator as Accumulator
from portmp.formats.registry import Format as Format
from portmp.formats.registry import complex_of as complex_of
from portmp.formats.registry import get as get
from portmp.formats.registry import has_bounds as has_bounds
from portmp.formats.registry import norms as norms
from portmp.formats.registry import real_only as real_only
from portmp.formats.registry import rounded_as as rounded_as
from portmp.formats.registry import wider as wider
from portmp.formats.registry import with_bound as with_bound
