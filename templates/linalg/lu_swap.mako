## The swaps of panels, those of a panel at once, in a tile of columns a block of threads.
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%
    p, long = w.platform, w.platform.index
    fence, unrolled = p.device_barrier, p.unroll
    each = 2 * most * tile // threads
%>
<% words = {"float32": "float", "float64": "double"} %>\
<% integers = p.const_pointer.format("int") %>
${arithmetic(w, [])}
/* rows chosen[i] of a panel go to its row i, and a row i that was not chosen to places[i], for i below
   ${most}; the first panel is *slot* stacks of matrices behind the start of both */
${p.kernel.format(threads)} ${head()}
{
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
## All that moves is read before anything is written; reads do not wait for each other.
% for k in w.limbs:
        ${words[w.format.planes[k]]} held${k}[${each}];
% endfor
% if threads == 1:
        /* rows that are chosen, and those that make room for them, whole pieces of them */
        for (int r = 0; r < 2 * width; ++r) {
            const int low = r < width, from = low ? pivot[r] : r - width;
            if (low || place[from] >= width) {
                for (int j = 0; j < wide; ++j) {
% for k in w.limbs:
                    held${k}[r * ${tile} + j] = w${k}[base + from * w_row + j * w_col];
% endfor
                }
            }
        }
        for (int r = 0; r < 2 * width; ++r) {
            const int low = r < width, to = low ? r : place[r - width];
            if (low || to >= width) {
                for (int j = 0; j < wide; ++j) {
% for k in w.limbs:
                    w${k}[base + to * w_row + j * w_col] = held${k}[r * ${tile} + j];
% endfor
                }
            }
        }
% else:
        int from[${each}], to[${each}];
        ${unrolled}
        for (int u = 0; u < ${each}; ++u) {
            const int r = (thread + u * ${threads}) / ${tile}, low = r < width, own = low ? 0 : r - width;
            const int source = pivot[low ? r : 0], target = place[own < width ? own : 0];
            from[u] = low ? source : own;
            to[u] = low ? r : own < width && target >= width ? target : -1;
        }
        ${unrolled}
        for (int u = 0; u < ${each}; ++u) {
            const int j = (thread + u * ${threads}) % ${tile};
            if (to[u] >= 0 && j < wide) {
% for k in w.limbs:
                held${k}[u] = w${k}[base + from[u] * w_row + j * w_col];
% endfor
            }
        }
        ${fence}
        ${unrolled}
        for (int u = 0; u < ${each}; ++u) {
            const int j = (thread + u * ${threads}) % ${tile};
            if (to[u] >= 0 && j < wide) {
% for k in w.limbs:
                w${k}[base + to[u] * w_row + j * w_col] = held${k}[u];
% endfor
            }
        }
        ${fence}
% endif
    }
}
