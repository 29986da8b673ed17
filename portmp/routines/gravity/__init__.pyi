"""The names of ``portmp.routines.gravity``, and where they are."""

from portmp.routines.gravity.launch import BUSY as BUSY
from portmp.routines.gravity.launch import COMBINE_THREADS as COMBINE_THREADS
from portmp.routines.gravity.launch import FULL as FULL
from portmp.routines.gravity.launch import MOST_PARTS as MOST_PARTS
from portmp.routines.gravity.launch import MOST_SLABS as MOST_SLABS
from portmp.routines.gravity.launch import SCHEDULERS as SCHEDULERS
from portmp.routines.gravity.launch import SPARED as SPARED
from portmp.routines.gravity.launch import check_root as check_root
from portmp.routines.gravity.launch import compilation_unit as compilation_unit
from portmp.routines.gravity.launch import filled as filled
from portmp.routines.gravity.launch import gravity_sum as gravity_sum
from portmp.routines.gravity.launch import packed as packed
from portmp.routines.gravity.launch import workspace as workspace
from portmp.routines.gravity.roles import steps as steps
