<%!
    def marks(cell, left):
        """How a cell looks: names are flush left, verdicts have a colour."""
        word = {"CHANGED": "mark", "NOT AS RECORDED": "bad", "as recorded": "good"}.get(str(cell).partition(",")[0], "")
        names = " ".join(filter(None, ["n" if left else "", word]))
        return f' class="{names}"' if names else ""
%>\
<%def name="table(grid, name, few=False)">\
<div class="wide" role="region" tabindex="0" aria-label="${grid.title or name}">
<table id="${name}" class="sorts${' few' if few else ''}">
<caption><span>${grid.title}</span></caption>
<thead><tr>\
% for head, left in zip(grid.heads, grid.left):
<th scope="col"${' class="n"' if left else '' | n}>${head}</th>\
% endfor
</tr></thead>
<tbody>
% for line in grid.cells:
<tr>\
% for cell, left in zip(line, grid.left):
<td${marks(cell, left) | n}>${cell}\
% endfor

% endfor
</tbody>
</table>
</div>
</%def>\
<%def name="filtered(grid, name)">\
% if len(grid.cells) > 7:
<div class="tools" hidden><label>Filter: <input type="search" data-filter="${name}"></label> <span id="${name}-said" class="soft" aria-live="polite"></span></div>
% endif
${table(grid, name)}\
</%def>\
<%def name="head(page)">\
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-${page.script_hash | n}'">
<link rel="icon" href="data:,">
<title>${page.title}</title>
<style>${page.style | n}</style>
</%def>\
