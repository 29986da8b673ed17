## The swaps of panels, those of a panel at once, in a tile of columns a block of threads.
<%namespace file="/blas/gemm_parameters.mako" import="matrix"/>
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%
    p, long = w.platform, w.platform.index
    # One thread waits for nobody, and compilers of CPUs take long over barriers.
    barrier, fence = (p.barrier, p.device_barrier) if threads > 1 else (";", ";")
%>
<% words = {"float32": "float", "float64": "double"} %>\
<% integers = p.const_pointer.format("int") %>
${arithmetic(w, [])}
/* rows chosen[i] of a panel go to its row i, and a row i that was not chosen to places[i], for i below
   ${most}; the first panel is *slot* stacks of matrices behind the start of both */
${p.kernel.format(threads)} lu_swap(
    const int steps, const ${long} columns, const ${long} tiles, const ${long} batch, const ${long} slot,
${matrix(w, "w", const=False)}\
    ${integers}places, ${integers}chosen)
{
% for k in w.limbs:
    ${p.shared} ${words[w.format.planes[k]]} held${k}[${2 * most * tile}];
% endfor
    const int thread = (int)${p.axis(p.local_id, 0)};
    const ${long} group = ${p.axis(p.group_id, 0)}, entry = group / tiles;
    const ${long} first = group % tiles * ${tile};
    const int wide = (int)(columns - first < ${tile} ? columns - first : ${tile});

    for (int step = 0; step < steps; step += ${most}) {
        const int width = steps - step < ${most} ? steps - step : ${most};
        const ${long} at = (slot + step / ${most} * batch + entry) * ${most};
        const ${long} base = w_start + entry * w_batch + step * w_row + first * w_col;
        ${integers}place = places + at;
        ${integers}pivot = chosen + at;
        for (int e = thread; e < 2 * width * ${tile}; e += ${threads}) {
            const int r = e / ${tile}, j = e % ${tile};
            const int from = r < width ? pivot[r] : r - width;
            if (j < wide) {
% for k in w.limbs:
                held${k}[e] = w${k}[base + from * w_row + j * w_col];
% endfor
            }
        }
        ${fence}
        for (int e = thread; e < 2 * width * ${tile}; e += ${threads}) {
            const int r = e / ${tile}, j = e % ${tile};
            const int to = r < width ? r : place[r - width];
            if (j < wide && (r < width || to >= width)) {
% for k in w.limbs:
                w${k}[base + to * w_row + j * w_col] = held${k}[e];
% endfor
            }
        }
        ${fence}
    }
}
