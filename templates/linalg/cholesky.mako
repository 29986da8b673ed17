## A block's Cholesky factor, in the memory of one block of threads for each matrix.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/gemm_parameters.mako" import="matrix"/>
<%
    p, long = w.platform, w.platform.index
    # One thread waits for nobody, and compilers of CPUs take long over barriers.
    barrier, fence = (p.barrier, p.device_barrier) if threads > 1 else (";", ";")
%>
<% held = lambda index: w.pack(f"held{k}[{index}]" for k in w.limbs) %>
<%def name="keep(index, value)">
% for k in w.limbs:
            held${k}[${index}] = ${w.narrow(k, w.word_of(value, k))};
% endfor
</%def>
${arithmetic(w, [networks["sqrt"], networks["div"], networks["neg"], networks["fma"]])}
/* the lower triangle of n rows; failed: the first order whose pivot is not positive */
${p.kernel.format(threads)} cholesky(
    const ${long} n, const int origin,
${matrix(w, "a", const=False)}\
    ${p.pointer.format("int")}failed)
{
% for k in w.limbs:
    ${p.shared} ${w.word} held${k}[${most * (most + 1) // 2}];
% endfor
    const int thread = (int)${p.axis(p.local_id, 0)}, size = (int)n;
    const ${long} entry = ${p.axis(p.group_id, 0)};
    const ${long} base = a_start + entry * a_batch;

<% batch = min(4, most * most // threads) %>\
    for (int e = thread; e < ${most * most}; e += ${batch * threads}) {
        ${w.value} read[${batch}];
% for u in range(batch):
        {
            const int i = (e + ${u * threads}) / ${most}, j = (e + ${u * threads}) % ${most};
            const int row = i < size ? i : size - 1;
            const ${long} at = base + row * a_row + (j < row ? j : row) * a_col;
            read[${u}] = ${w.element("a", "at")};
        }
% endfor
% for u in range(batch):
        {
            const int i = (e + ${u * threads}) / ${most}, j = (e + ${u * threads}) % ${most};
            if (j <= i) {
${keep("i * (i + 1) / 2 + j", f"read[{u}]")}
            }
        }
% endfor
    }
    ${fence}
    for (int k = 0; k < size; ++k) {
        const int pivot = k * (k + 3) / 2;
        if (thread == 0) {
            const ${w.value} x = ${held("pivot")};
            const ${w.value} root = ${w.function(networks["sqrt"])}(x);
            if (!(${w.word_of("x", 0)} > 0) && failed[entry] == 0)
                failed[entry] = origin + k + 1;
${keep("pivot", "root")}
        }
        ${barrier}
        for (int i = k + 1 + thread; i < size; i += ${threads}) {
            const int at = i * (i + 1) / 2 + k;
            const ${w.value} l = ${w.function(networks["div"])}(${held("at")}, ${held("pivot")});
${keep("at", "l")}
        }
        ${barrier}
% if threads == 1:
        for (int i = k + 1; i < size; ++i) {
            const int row = i * (i + 1) / 2, left = row + k;
            for (int j = k + 1; j <= i; ++j) {
                const int at = row + j, right = j * (j + 1) / 2 + k;
                const ${w.value} z = ${w.function(networks["fma"])}(
                    ${w.function(networks["neg"])}(${held("left")}), ${held("right")}, ${held("at")});
${keep("at", "z")}
            }
        }
% else:
<% lanes = threads // most %>\
## All are computed, so that none waits for another, and those of the rest are kept.
        {
            const int j = thread % ${most}, right = j * (j + 1) / 2 + (k < j ? k : j);
            ${w.value} z[${most // lanes}];
% for u in range(most // lanes):
            {
                const int i = thread / ${most} + ${u * lanes}, row = i * (i + 1) / 2;
                const int left = row + (k < i ? k : i), at = row + (j < i ? j : i);
                z[${u}] = ${w.function(networks["fma"])}(
                    ${w.function(networks["neg"])}(${held("left")}), ${held("right")}, ${held("at")});
            }
% endfor
            ${barrier}
% for u in range(most // lanes):
            {
                const int i = thread / ${most} + ${u * lanes}, at = i * (i + 1) / 2 + j;
                if (j > k && j <= i && i < size) {
${keep("at", f"z[{u}]")}
                }
            }
% endfor
        }
% endif
        ${barrier}
    }
    for (int e = thread; e < size * size; e += ${threads}) {
        const int i = e / size, j = e % size;
        if (j <= i) {
            const ${long} at = base + i * a_row + j * a_col;
% for k in w.limbs:
            ${w.store("a", k, "at", w.word_of(held("i * (i + 1) / 2 + j"), k))}
% endfor
        }
    }
}
