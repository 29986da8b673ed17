<%namespace name="parts" file="parts.mako"/>\
<%def name="drawn(figure)">\
<figure${' class=whole' if figure.wide else '' | n}>
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
</%def>\
<!DOCTYPE html>
<html lang="en">
<head>
${parts.head(page)}\
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
<details class="tools chosen" hidden><summary>Devices that are shown</summary>
<div class="boxes" role="group" aria-label="Devices that are shown">
% for device in page.devices:
<label><input type="checkbox" checked data-shows="${device.key}"> <span>${device.title} <span class="soft">${device.through}</span></span></label>
% endfor
</div></details>
% endif
<ul class="tiles">
% for number, words in page.tiles:
<li><b>${number}</b> <span>${words}</span></li>
% endfor
</ul>
</header>
<main id="main">
% for problem in page.problems:
<p class="bad">${problem}</p>
% endfor
<section aria-labelledby="devices">
<h2 id="devices">${page.headings["devices"]}</h2>
${parts.filtered(page.overview, "overview")}
<details><summary>The hardware of each device</summary>
% for device in page.devices:
<div data-device="${device.key}">
<h3>${device.title} (${device.through})</h3>
${parts.table(device.hardware, device.key + "-hardware", True)}
</div>
% endfor
</details>
</section>
<section aria-labelledby="digests">
<h2 id="digests">${page.headings["digests"]}</h2>
<p>${page.about_digests}</p>
${parts.filtered(page.digests, "digests-table")}
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
<p>Names below a figure show and hide its series. A mark tells its numbers where a pointer rests on it; all are listed below the figure.</p>
% for figure in page.cover:
${drawn(figure)}\
% endfor
% for device in page.devices:
% if device.figures:
<div data-device="${device.key}"><h3>${device.title} (${device.through})</h3>
<div class="figures">
% for figure in device.figures:
${drawn(figure)}\
% endfor
</div></div>
% endif
% endfor
</section>
% endif
% if page.ratios:
<section aria-labelledby="papers">
<h2 id="papers">${page.headings["papers"]}</h2>
${parts.filtered(page.ratios, "ratios")}
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
${parts.filtered(grid, f"{device.key}-{i}-{j}")}
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
${parts.filtered(page.left_out, "left-out")}
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
${parts.table(page.files, "files", True)}
</footer>
<script>${page.script | n}</script>
</body>
</html>
