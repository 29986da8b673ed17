"""The names of ``portmp.fft``, and where they are."""

from portmp.fft.cosines import dct as dct
from portmp.fft.cosines import dst as dst
from portmp.fft.cosines import idct as idct
from portmp.fft.cosines import idst as idst
from portmp.fft.frequencies import fftfreq as fftfreq
from portmp.fft.frequencies import fftshift as fftshift
from portmp.fft.frequencies import ifftshift as ifftshift
from portmp.fft.frequencies import next_fast_len as next_fast_len
from portmp.fft.frequencies import rfftfreq as rfftfreq
from portmp.fft.products import convolve as convolve
from portmp.fft.products import correlate as correlate
from portmp.fft.transforms import fft as fft
from portmp.fft.transforms import fft2 as fft2
from portmp.fft.transforms import fftn as fftn
from portmp.fft.transforms import hfft as hfft
from portmp.fft.transforms import ifft as ifft
from portmp.fft.transforms import ifft2 as ifft2
from portmp.fft.transforms import ifftn as ifftn
from portmp.fft.transforms import ihfft as ihfft
from portmp.fft.transforms import irfft as irfft
from portmp.fft.transforms import irfft2 as irfft2
from portmp.fft.transforms import irfftn as irfftn
from portmp.fft.transforms import rfft as rfft
from portmp.fft.transforms import rfft2 as rfft2
from portmp.fft.transforms import rfftn as rfftn
