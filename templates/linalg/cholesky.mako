## A block's Cholesky factor, in one block of threads for each matrix.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/gemm_parameters.mako" import="matrix"/>
<% p, long = w.platform, w.platform.index %>
<%def name="put(index, value)">
% for k in w.limbs:
            ${w.store("a", k, index, w.word_of(value, k))}
% endfor
</%def>
${arithmetic(w, [networks["sqrt"], networks["div"], networks["neg"], networks["fma"]])}
/* the lower triangle of n rows; failed: the first order whose pivot is not positive */
${p.kernel.format(threads)} cholesky(
    const ${long} n, const int origin,
${matrix(w, "a", const=False)}\
    ${p.pointer.format("int")}failed)
{
    const int thread = (int)${p.axis(p.local_id, 0)}, size = (int)n;
    const ${long} entry = ${p.axis(p.group_id, 0)};
    const ${long} base = a_start + entry * a_batch;

    for (int k = 0; k < size; ++k) {
        const ${long} pivot = base + k * (a_row + a_col);
        if (thread == 0) {
            const ${w.value} x = ${w.element("a", "pivot")};
            const ${w.value} root = ${w.function(networks["sqrt"])}(x);
            if (!(${w.word_of("x", 0)} > 0) && failed[entry] == 0)
                failed[entry] = origin + k + 1;
${put("pivot", "root")}
        }
        ${p.device_barrier}
        for (int i = k + 1 + thread; i < size; i += ${threads}) {
            const ${long} at = base + i * a_row + k * a_col;
            const ${w.value} l = ${w.function(networks["div"])}(${w.element("a", "at")}, ${w.element("a", "pivot")});
${put("at", "l")}
        }
        ${p.device_barrier}
        for (int e = thread; e < (size - 1 - k) * (size - 1 - k); e += ${threads}) {
            const int i = k + 1 + e / (size - 1 - k), j = k + 1 + e % (size - 1 - k);
            if (j <= i) {
                const ${long} left = base + i * a_row + k * a_col;
                const ${long} right = base + j * a_row + k * a_col;
                const ${long} at = base + i * a_row + j * a_col;
                const ${w.value} z = ${w.function(networks["fma"])}(
                    ${w.function(networks["neg"])}(${w.element("a", "left")}), ${w.element("a", "right")}, ${w.element("a", "at")});
${put("at", "z")}
            }
        }
        ${p.device_barrier}
    }
}
