## What kernels over arrays of any strides share: a work-item an element.

## The element of a work-item, by its number i and its indices i0, i1 ...
<%def name="element(w, rank, threads)">\
<% p = w.platform %>\
    const ${p.index} i = (${p.index})${p.axis(p.group_id, 0)} * ${threads} + ${p.axis(p.local_id, 0)};
    if (i >= n)
        return;
% if rank > 1:
    ${p.index} rest = i;
% for axis in range(rank - 1, 0, -1):
    const ${p.index} i${axis} = rest % size${axis};
    rest /= size${axis};
% endfor
    const ${p.index} i0 = rest;
% else:
    const ${p.index} i0 = i;
% endif
</%def>
