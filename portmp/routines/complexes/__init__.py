"""Operations on complex numbers: real and imaginary parts are views of one array."""
