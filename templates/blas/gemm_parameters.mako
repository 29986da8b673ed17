## What GEMM's kernels are given. v: scalar Writer

## The sizes, A and B.
<%def name="factors(v)">\
<% long = v.platform.index %>\
    const ${long} m, const ${long} n, const ${long} k,
${matrix(v, "a")}\
${matrix(v, "b")}\
</%def>

## A batch of matrices: planes and strides.
<%def name="matrix(v, operand, const=True, compute=False, end=',')">\
<% long = v.platform.index %>\
    ${v.planes(operand, const=const, compute=compute)},
    const ${long} ${operand}_start, const ${long} ${operand}_row, const ${long} ${operand}_col, const ${long} ${operand}_batch${end}
</%def>

## What ends an element: the addend, the result and the scalars.
<%def name="ending(v)">\
${matrix(v, "c")}\
${matrix(v, "out", const=False)}\
    ${v.scalars("alpha")}, ${v.scalars("beta")},
    const int alpha_is_one, const int beta_kind)
</%def>
