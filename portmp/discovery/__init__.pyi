"""The names of ``portmp.discovery``, and where they are."""

from portmp.discovery.finding import BACKENDS as BACKENDS
from portmp.discovery.finding import CHECKED as CHECKED
from portmp.discovery.finding import HOST as HOST
from portmp.discovery.finding import INTERPRETED as INTERPRETED
from portmp.discovery.finding import PROCESSOR as PROCESSOR
from portmp.discovery.finding import Found as Found
from portmp.discovery.finding import accepted as accepted
from portmp.discovery.finding import device as device
from portmp.discovery.finding import devices as devices
from portmp.discovery.finding import find as find
from portmp.discovery.finding import get as get
from portmp.discovery.finding import hardware as hardware
from portmp.discovery.finding import interpreter as interpreter
from portmp.discovery.finding import listed as listed
from portmp.discovery.finding import opened as opened
from portmp.discovery.finding import queue_of as queue_of
