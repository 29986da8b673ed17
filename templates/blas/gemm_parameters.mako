## What GEMM's kernels are given. v: scalar Writer

## A batch of matrices: planes and strides.
<%def name="matrix(v, operand, const=True, compute=False, end=',')">\
<% long = v.platform.index %>\
    ${v.planes(operand, const=const, compute=compute)},
    const ${long} ${operand}_start, const ${long} ${operand}_row, const ${long} ${operand}_col, const ${long} ${operand}_batch${end}
</%def>
