<%def name="table(grid, name, few=False)">\
<div class="wide" role="region" tabindex="0" aria-label="${grid.title or name}">
<table id="${name}" class="sorts${' few' if few else ''}">
<caption>${grid.title}</caption>
<thead><tr>\
% for head, left in zip(grid.heads, grid.left):
<th scope="col"${' class="n"' if left else '' | n}>${head}</th>\
% endfor
</tr></thead>
<tbody>
% for line in grid.cells:
<tr>\
% for cell, left in zip(line, grid.left):
<td${' class=n' if left else '' | n}>${cell}\
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
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-${page.script_hash | n}'">
<link rel="icon" href="data:,">
<title>${page.title}</title>
<style>${page.style | n}</style>
</head>
<body>
<a class="skip" href="#main">To the content</a>
<header>
<h1>${page.title}</h1>
<p class="soft">${page.subtitle}</p>
<nav aria-label="Parts of the page"><ul>
% for part in page.contents:
<li><a href="#${part}">${page.headings[part]}</a></li>
% endfor
</ul></nav>
<div class="tools" hidden>
<label>Colours <select id="theme"><option value="">as the system</option><option value="light">light</option><option value="dark">dark</option></select></label>
<button type="button" id="open">Open or close all</button>
</div>
% if len(page.devices) > 1:
<fieldset class="tools" hidden><legend>Devices that are shown</legend>
% for device in page.devices:
<label><input type="checkbox" checked data-shows="${device.key}"> ${device.title} (${device.through})</label>
% endfor
</fieldset>
% endif
</header>
<main id="main">
% for problem in page.problems:
<p class="bad">${problem}</p>
% endfor
<section aria-labelledby="devices">
<h2 id="devices">${page.headings["devices"]}</h2>
${filtered(page.overview, "overview")}
<details><summary>The hardware of each device</summary>
% for device in page.devices:
<div data-device="${device.key}">
<h3>${device.title} (${device.through})</h3>
${table(device.hardware, device.key + "-hardware", True)}
</div>
% endfor
</details>
</section>
<section aria-labelledby="digests">
<h2 id="digests">${page.headings["digests"]}</h2>
<p>${page.about_digests}</p>
${filtered(page.digests, "digests-table")}
% for device in page.devices:
% if device.problems:
<div data-device="${device.key}"><h3>${device.title} (${device.through})</h3>
<ul>
% for problem in device.problems:
<li class="bad">${problem}</li>
% endfor
</ul></div>
% endif
% endfor
</section>
% if page.figures:
<section aria-labelledby="figures">
<h2 id="figures">${page.headings["figures"]}</h2>
<p>Names below a figure show and hide its series. A mark tells its numbers where a pointer rests on it; all are in the table below the figure.</p>
% for device in page.devices:
% if device.figures:
<div data-device="${device.key}"><h3>${device.title} (${device.through})</h3>
<div class="figures">
% for figure in device.figures:
<figure>
<figcaption>${figure.title}</figcaption>
${figure.svg | n}
<div class="legend" role="group" aria-label="Series">\
% for i, (mark, name) in enumerate(figure.names):
<button type="button" aria-pressed="true" data-series="series-${i}"><i class="c${i % 8}" aria-hidden="true">${mark}</i>${name}</button>\
% endfor
</div>
% if figure.note:
<p class="soft">${figure.note}</p>
% endif
<details><summary>Numbers</summary>
<ul>
% for name, marks in figure.numbers:
<li>${name}: ${marks}</li>
% endfor
</ul>
</details>
</figure>
% endfor
</div></div>
% endif
% endfor
</section>
% endif
% if page.ratios:
<section aria-labelledby="papers">
<h2 id="papers">${page.headings["papers"]}</h2>
${filtered(page.ratios, "ratios")}
</section>
% endif
<section aria-labelledby="tables">
<h2 id="tables">${page.headings["tables"]}</h2>
% for device in page.devices:
% if device.tables:
<div data-device="${device.key}"><h3>${device.title} (${device.through})</h3>
% for i, one in enumerate(device.tables):
<details><summary>${one.summary}</summary>
% for sentence in one.sentences:
<p class="soft">${sentence}</p>
% endfor
% for j, grid in enumerate(one.grids):
${filtered(grid, f"{device.key}-{i}-{j}")}
% endfor
</details>
% endfor
</div>
% endif
% endfor
</section>
% if page.left_out:
<section aria-labelledby="left">
<h2 id="left">${page.headings["left"]}</h2>
${filtered(page.left_out, "left-out")}
</section>
% endif
% if page.sources:
<section aria-labelledby="sources">
<h2 id="sources">${page.headings["sources"]}</h2>
<p>The kernels that were measured, as this version renders them for a device that is not named. Lines with another colour differ from the first column's, in the first from the last's. <code>portmp render</code> prints any other routine and format.</p>
% for source in page.sources:
<details><summary>${source.routine}, ${source.format}</summary>
<div class="three">
% for name, lines in source.texts.items():
<div><h3>${name}</h3>
<pre>\
% for text, differs in lines:
${'<b>' if differs else '' | n}${text}${'</b>' if differs else '' | n}
% endfor
</pre></div>
% endfor
</div>
</details>
% endfor
</section>
% endif
</main>
<footer>
<h2 id="made">${page.headings["made"]}</h2>
<p>${page.made}</p>
${table(page.files, "files", True)}
</footer>
<script>${page.script | n}</script>
</body>
</html>
