## What panels share: how a step ends, and the last one.
<%def name="ended(w, together, fence)">
<%
    p = w.platform
    came = "(step + 1 - first_step) * (int)" + p.group_count.format("x")
%>\
% if together:
            if (step + 1 < end_step) {
                ${p.grid_barrier["wait"].format("arrived", came)}
            } else {
                ${p.grid_barrier["leave"].format("arrived", came)}
            }
% else:
            ${fence}
% endif
</%def>
