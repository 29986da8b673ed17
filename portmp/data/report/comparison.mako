<%namespace name="parts" file="parts.mako"/>\
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
<div class="tools" hidden>
<label>Colours <select id="theme"><option value="">as the system</option><option value="light">light</option><option value="dark">dark</option></select></label>
<button type="button" id="open">Open or close all</button>
</div>
<ul class="tiles">
% for number, words in page.tiles:
<li><b>${number}</b> <span>${words}</span></li>
% endfor
</ul>
</header>
<main id="main">
% for i, pair in enumerate(page.pairs):
<section aria-labelledby="pair${i}">
<h2 id="pair${i}">${pair.title}</h2>
<p>Old: ${pair.old}. New: ${pair.new}.</p>
% for j, grid in enumerate(pair.grids):
${parts.filtered(grid, f"t{i}-{j}")}
% endfor
</section>
% endfor
</main>
<footer>
<h2>How to read this page</h2>
<p>${page.made}</p>
</footer>
<script>${page.script | n}</script>
</body>
</html>
