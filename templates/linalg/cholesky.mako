## A block's Cholesky factor, in the memory of one block of threads for each matrix.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace file="/blas/gemm_parameters.mako" import="matrix"/>
<%
    p, long = w.platform, w.platform.index
    # One thread waits for nobody, and compilers of CPUs take long over barriers.
    fence = p.device_barrier if threads > 1 else ";"
    ## Threads that are no row's stay beside: a warp that works on a column does nothing else.
    crew = max(most, w.traits.warp_size)
    groups = max(1, (threads - crew) // most)
    each = -(-most // groups)
%>
<% held = lambda index: w.pack(f"held{k}[{index}]" for k in w.limbs) %>
<%def name="keep(index, value)">
% for k in w.limbs:
            held${k}[${index}] = ${w.narrow(k, w.word_of(value, k))};
% endfor
</%def>
## A value as memory would give it back.
<%def name="stored(value)">
% for k in w.limbs:
% if w.format.planes[k] != w.format.word:
            ${w.word_of(value, k)} = ${w.narrow(k, w.word_of(value, k))};
% endif
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
% if threads == 1:
    for (int k = 0; k < size; ++k) {
        const int pivot = k * (k + 3) / 2;
        const ${w.value} x = ${held("pivot")};
        const ${w.value} root = ${w.function(networks["sqrt"])}(x);
        if (!(${w.word_of("x", 0)} > 0) && failed[entry] == 0)
            failed[entry] = origin + k + 1;
${keep("pivot", "root")}
        for (int i = k + 1; i < size; ++i) {
            const int at = i * (i + 1) / 2 + k;
            const ${w.value} l = ${w.function(networks["div"])}(${held("at")}, ${held("pivot")});
${keep("at", "l")}
        }
        for (int i = k + 1; i < size; ++i) {
            const int row = i * (i + 1) / 2, left = row + k;
            for (int j = k + 1; j <= i; ++j) {
                const int at = row + j, right = j * (j + 1) / 2 + k;
                const ${w.value} z = ${w.function(networks["fma"])}(
                    ${w.function(networks["neg"])}(${held("left")}), ${held("right")}, ${held("at")});
${keep("at", "z")}
            }
        }
    }
% else:
## Step k ends column k: its last product, pivot, root and quotients, by a thread a row. Meanwhile
## others take the column before from all columns behind, so that a step waits once.
    ${w.value} diagonal = ${w.zero()}, minus = ${w.zero()};
    for (int k = 0; k < size; ++k) {
        if (thread < ${most}) {
            const int row = thread > k ? thread : k, at = row * (row + 1) / 2 + k, corner = k * (k + 3) / 2;
            ${w.value} x = ${held("at")}, pivot = ${held("corner")};
            if (k > 0) {
                const int before = corner - 1;
                const ${w.value} top = ${held("before")};
                x = ${w.function(networks["fma"])}(minus, top, x);
                pivot = ${w.function(networks["fma"])}(${w.function(networks["neg"])}(top), top, pivot);
${stored("x")}\
${stored("pivot")}\
            }
            ${w.value} root = ${w.function(networks["sqrt"])}(pivot);
${stored("root")}\
            if (thread == 0 && !(${w.word_of("pivot", 0)} > 0) && failed[entry] == 0)
                failed[entry] = origin + k + 1;
            if (thread == k)
                diagonal = root;
            x = ${w.function(networks["div"])}(x, root);
            if (thread > k) {
${keep("at", "x")}\
            }
${stored("x")}\
            minus = ${w.function(networks["neg"])}(x);
        } else if (k > 0 && thread >= ${crew}) {
## All are computed, so that none waits for another; those that do not count read what nobody writes.
            const int j = thread % ${most}, from = (thread - ${crew}) / ${most};
            const int right = j * (j + 1) / 2 + (k <= j ? k - 1 : j);
            ${w.value} z[${each}];
% for u in range(each):
            {
                const int there = from + ${u * groups}, i = there < ${most} ? there : ${most - 1}, row = i * (i + 1) / 2;
                const int left = row + (k <= i ? k - 1 : i), at = j > k && j <= i && there < size ? row + j : left;
                z[${u}] = ${w.function(networks["fma"])}(
                    ${w.function(networks["neg"])}(${held("left")}), ${held("right")}, ${held("at")});
            }
% endfor
% for u in range(each):
            {
                const int i = from + ${u * groups}, at = i * (i + 1) / 2 + j;
                if (j > k && j <= i && i < size) {
${keep("at", f"z[{u}]")}
                }
            }
% endfor
        }
        ${p.barrier}
    }
    if (thread < size) {
        const int corner = thread * (thread + 3) / 2;
${keep("corner", "diagonal")}\
    }
    ${p.barrier}
% endif
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
