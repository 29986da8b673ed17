## The swaps of a panel, at once, in a tile of columns a block of threads.
<%namespace file="/blas/gemm_parameters.mako" import="matrix"/>
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%
    p, long = w.platform, w.platform.index
    # One thread waits for nobody, and compilers of CPUs take long over barriers.
    barrier, fence = (p.barrier, p.device_barrier) if threads > 1 else (";", ";")
%>
<% integers = p.const_pointer.format("int") %>
<% words = {"float32": "float", "float64": "double"} %>
${arithmetic(w, [])}
/* row chosen[i] goes to row i, and a row i that was not chosen to place[i], for i below width */
${p.kernel.format(threads)} lu_swap(
    const ${long} m, const int width, const ${long} columns, const ${long} tiles,
${matrix(w, "w", const=False)}\
    ${integers}places, ${integers}chosen)
{
% for dtype in sorted(set(w.format.planes)):
    ${p.shared} ${words[dtype]} held_${dtype}[${2 * most * tile}];
% endfor
    const int thread = (int)${p.axis(p.local_id, 0)};
    const ${long} group = ${p.axis(p.group_id, 0)}, entry = group / tiles;
    const ${long} first = group % tiles * ${tile};
    const int wide = (int)(columns - first < ${tile} ? columns - first : ${tile});
    const ${long} base = w_start + entry * w_batch + first * w_col;
    ${integers}place = places + entry * m;
    ${integers}pivot = chosen + entry * ${most};

% for k in w.limbs:
<% held = f"held_{w.format.planes[k]}" %>\
    for (int e = thread; e < 2 * width * ${tile}; e += ${threads}) {
        const int r = e / ${tile}, j = e % ${tile};
        const int from = r < width ? pivot[r] : r - width;
        if (j < wide)
            ${held}[e] = w${k}[base + from * w_row + j * w_col];
    }
    ${fence}
    for (int e = thread; e < 2 * width * ${tile}; e += ${threads}) {
        const int r = e / ${tile}, j = e % ${tile};
        const int to = r < width ? r : place[r - width];
        if (j < wide && (r < width || to >= width))
            w${k}[base + to * w_row + j * w_col] = ${held}[e];
    }
    ${fence}
% endfor
}
