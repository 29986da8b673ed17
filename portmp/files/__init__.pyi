"""The names of ``portmp.files``, and where they are."""

from portmp.files.arrays import STANDARD_INPUT as STANDARD_INPUT
from portmp.files.arrays import check_target as check_target
from portmp.files.arrays import headers as headers
from portmp.files.arrays import headings as headings
from portmp.files.arrays import members as members
from portmp.files.arrays import read as read
from portmp.files.arrays import stored_format as stored_format
from portmp.files.arrays import write as write
from portmp.files.arrays import write_members as write_members
