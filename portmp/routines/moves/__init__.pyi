"""The names of ``portmp.routines.moves``, and where they are."""

from portmp.routines.moves.launch import copied as copied
from portmp.routines.moves.launch import dense as dense
from portmp.routines.moves.launch import gathered as gathered
from portmp.routines.moves.launch import like as like
from portmp.routines.moves.launch import scattered as scattered
from portmp.routines.moves.launch import selected as selected
