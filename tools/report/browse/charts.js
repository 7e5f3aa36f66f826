/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * charts.js - figures over time as lines that the reader can zoom, switch on and off, and click.
 *
 * charts.c writes the series, and charts.def says which columns are drawn.  A chart takes the place of gnuplot's
 * picture on a screen; the picture stays for print and for a page without scripts.
 *
 * With several traces a chart has the curves of all of them, each trace from its start on.  A colour is a curve, and a
 * pattern is a trace.
 */
'use strict';

(() => {
const {make} = sqtrace;
const ROOM = {left: 62, right: 10, top: 10, bottom: 24};
const COLOURS = 8;
/* Curves that have the same colour in all figures, as in gnuplot's pictures. */
const OWN = {hits: 0, misses: 1, all: 6, in: 2, out: 3};
/* Curves of a comparison that are drawn at first. */
const FIRST = 3;

function svg(tag, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes || {}))
    element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/* ---- curves of a series ---- */

const spaced = name => name.replace(/^_/, '').replace(/(_ms|_pct|_per_s|_mean|_p50)+$/, '').replaceAll('_', ' ')
  .replace(/^dhr$/, 'of requests').replace(/^bhr$/, 'of bytes');

/* Columns that end so, or are called so. */
function chosen(names, endings, not) {
  return endings.split(' ').filter(Boolean).flatMap(ending => names.map((name, i) => ({name, i, ending}))
    .filter(({name, i}) => i > 0 && (name == ending || ending[0] == '_' && name.endsWith(ending) && !not.includes(name))));
}

/* Rows of the key that has most of them. */
function rows_of_most(rows, key) {
  const counts = new Map();
  for (const row of rows)
    counts.set(row[key], (counts.get(row[key]) || 0) + 1);
  const most = [...counts].reduce((best, one) => one[1] > best[1] ? one : best, ['', 0])[0];
  return rows.filter(row => row[key] == most);
}

/* [{name, dashed, points: [[ns, value], ...]}] of the series of one trace. */
function curves_in(series, text) {
  const lines = text.split('\n'), names = lines[0].split('\t');
  const all_rows = lines.slice(1).filter(Boolean).map(line => line.split('\t'));
  const rows = series.form == 'first' ? rows_of_most(all_rows, names.indexOf(series.key)) : all_rows;
  const key = series.form == 'first' ? -1 : names.indexOf(series.key), least = window.sqtraceLeast || {}, curves = new Map();
  const drawn = [...chosen(names, series.solid, ['stages_ms']).map(c => ({...c, dashed: false})),
                 ...chosen(names, series.dashed, []).map(c => ({...c, dashed: true}))];
  for (const {name, i, ending, dashed} of drawn) {
    const stem = name == ending ? name : name.slice(0, -ending.length), count = names.indexOf(stem + '_count');
    for (const row of rows) {
      if (row[i] == '-' || (count > 0 && Number(row[count]) < (least[ending]?.values || 0)))
        continue;
      const of = key < 0 ? '' : /^\d+$/.test(row[key]) ? `${series.key} ${row[key]}` : row[key];
      const called = [of, of && drawn.length == 1 ? '' : spaced(stem)].filter(Boolean).join(', ');
      const id = called + (dashed ? '~' : '');
      if (!curves.has(id))
        curves.set(id, {name: called + (dashed ? ', ' + words_of(ending) : ''), stem: called, dashed, points: []});
      curves.get(id).points.push([Number(row[0]) * 1e9, Number(row[i])]);
    }
  }
  return [...curves.values()];
}

/* {kept: curves, zero: names}: a curve with nothing but zeros in all traces is left out, and told. */
function curves_of(series) {
  const all = series.of.flatMap(({trace, rows}) => curves_in(series, rows).map(curve => ({...curve, trace})));
  const seen = new Set(all.filter(curve => curve.points.some(point => point[1] > 0)).map(curve => curve.name));
  const kept = all.filter(curve => seen.has(curve.name)), stems = [...new Set(kept.map(curve => curve.stem))];
  const several = sqtrace.traces.length > 1;
  for (const curve of kept)
    Object.assign(curve, {pattern: sqtrace.traces.findIndex(data => data.label == curve.trace),
      colour: OWN[curve.stem] ?? stems.indexOf(curve.stem) % COLOURS});
  if (several && stems.length == 1) /* then the colour can tell the traces apart, too */
    kept.forEach(curve => { curve.colour = curve.pattern % COLOURS; });
  return {kept, zero: [...new Set(all.filter(curve => !seen.has(curve.name)).map(curve => curve.name))]};
}

const words_of = ending => window.sqtraceLeast?.[ending]?.name || spaced(ending) || 'mean';

sqtrace.curves = curves_of;

/* Each curve begins where the one below ends; a time that one of them does not have has no area. */
function stacked(curves) {
  const sums = new Map();
  return curves.map(curve => ({curve, points: curve.points.map(([at, value]) => {
    const low = sums.get(at) || 0;
    sums.set(at, low + value);
    return [at, low + value, low];
  })}));
}

/* ---- scales ---- */

function round_step(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map(n => n * power).find(step => step >= rough);
}

/* {y(value), ticks: [[value, text]]} of what is in view. */
function scale_of(series, shown, height) {
  const {from, to} = sqtrace.view;
  let values = shown.flatMap(({points}) => points.filter(([at]) => at >= from && at <= to).map(point => point[1]));
  if (!values.length)
    values = shown.flatMap(({points}) => points.map(point => point[1]));
  const most = values.reduce((most, value) => Math.max(most, value), 0), above = values.filter(value => value > 0), least = above.reduce((least, value) => Math.min(least, value), Infinity);
  const h = height - ROOM.top - ROOM.bottom, ticks = [];
  if (!series.stacked && /ms\)/.test(series.y) && above.length == values.length && most / least > 30) {
    const low = Math.log10(least / 1.5), high = Math.log10(most * 1.2);
    const y = value => ROOM.top + h - (Math.log10(value) - low) / (high - low) * h;
    for (let power = Math.ceil(low); power <= high; ++power)
      ticks.push([10 ** power, text_of(10 ** power)]);
    return {y, ticks};
  }
  const top = series.stacked && most > 99 ? 100 : most || 1, step = round_step(top / 6);
  for (let value = 0; value <= top * 1.001; value += step)
    ticks.push([value, text_of(value)]);
  return {y: value => ROOM.top + h - value / (top * 1.03) * h, ticks};
}

const text_of = value => value >= 1e4 ? sqtrace.count(Math.round(value)) : String(Number(value.toPrecision(3)));

/* ---- drawing ---- */

/* A percentile is dashed; where dashes tell traces apart, it is thin and pale. */
const percentile = () => sqtrace.traces.length > 1 ? ' thin' : ' dashed';
const pattern_of = curve => sqtrace.traces.length > 1 ? ' p' + curve.pattern : '';
const told_name = curve => sqtrace.traces.length > 1 ? `${curve.name}, ${curve.trace}` : curve.name;
const is_on = (chart, curve) => chart.switches.every(one => one.on || !one.has(curve));

function path_of(points, x, y) {
  return points.map(([at, value], i) => (i ? 'L' : 'M') + x(at).toFixed(1) + ' ' + y(value).toFixed(1)).join('');
}

function area_of(points, x, y) {
  return path_of(points, x, y) + [...points].reverse().map(([at, , low]) => 'L' + x(at).toFixed(1) + ' ' + y(low).toFixed(1)).join('') + 'Z';
}

function put_axes(chart, scale, width, height) {
  const {from, to} = sqtrace.view, w = width - ROOM.left - ROOM.right, parts = [];
  for (const [value, text] of scale.ticks) {
    const y = scale.y(value).toFixed(1);
    parts.push(svg('line', {x1: ROOM.left, x2: width - ROOM.right, y1: y, y2: y, class: 'grid'}),
      svg('text', {x: ROOM.left - 7, y, 'text-anchor': 'end', 'dominant-baseline': 'middle'}, text));
  }
  const ticks = Math.max(1, Math.min(6, Math.floor(w / 90)));
  for (let i = 0; i <= ticks; ++i)
    parts.push(svg('text', {x: ROOM.left + w * i / ticks, y: height - 6, 'text-anchor': i == 0 ? 'start' : i == ticks ? 'end' : 'middle'},
      sqtrace.at(from + (to - from) * i / ticks, (to - from) / ticks < 3e9 ? 1 : 0)));
  return parts;
}

function draw(chart) {
  const {series, box} = chart, width = box.clientWidth, height = box.clientHeight;
  if (!width || !chart.curves)
    return;
  const {from, to} = sqtrace.view, w = width - ROOM.left - ROOM.right;
  const on = chart.curves.filter(curve => is_on(chart, curve));
  const shown = series.stacked ? stacked(on) : on.map(curve => ({curve, points: curve.points}));
  const scale = scale_of(series, shown, height);
  const x = at => ROOM.left + (at - from) / (to - from) * w;
  const clip = 'clip-' + series.figure;
  const marks = shown.flatMap(({curve, points}) => {
    const kind = `curve k${curve.colour}${curve.dashed ? percentile() : ''}${pattern_of(curve)}`;
    if (series.stacked)
      return [svg('path', {d: area_of(points, x, scale.y), class: `area k${curve.colour}`}, svg('title', {}, curve.name))];
    const dots = curve.dashed || points.length > 80 ? [] : points.filter(([at]) => at >= from && at <= to)
      .map(([at, value]) => svg('circle', {cx: x(at).toFixed(1), cy: scale.y(value).toFixed(1), r: 2.5, class: `k${curve.colour}`}));
    return [svg('path', {d: path_of(points, x, scale.y), class: kind}, svg('title', {}, told_name(curve))), ...dots];
  });
  Object.assign(chart, {x, y: scale.y});
  chart.svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  chart.svg.replaceChildren(svg('clipPath', {id: clip}, svg('rect', {x: ROOM.left, y: 0, width: w, height: height - ROOM.bottom + 1})),
    ...put_axes(chart, scale, width, height), svg('g', {'clip-path': `url(#${clip})`}, ...marks));
  if (chart.at != null && chart.at >= from && chart.at <= to)
    chart.svg.append(svg('line', {x1: x(chart.at), x2: x(chart.at), y1: ROOM.top, y2: height - ROOM.bottom, class: 'cursor'}));
}

/* ---- what is at a time ---- */

/* All times that a curve has, in order. */
function times_of(chart) {
  return chart.times ||= [...new Set(chart.curves.flatMap(curve => curve.points.map(point => point[0])))].sort((a, b) => a - b);
}

/* ns from one time of a curve to the next. */
function step_of(curve) {
  const times = curve.points.map(point => point[0]);
  return curve.step ||= times.length > 1 ? Math.min(...times.slice(1).map((at, i) => at - times[i]))
    : sqtrace.traces.find(data => data.label == curve.trace).length_ns;
}

/* The point of a curve that stands for this time: times of two traces need not be the same. */
function point_at(curve, at) {
  const point = curve.points.reduce((best, one) => Math.abs(one[0] - at) < Math.abs(best[0] - at) ? one : best);
  return point[0] == at || (sqtrace.traces.length > 1 && Math.abs(point[0] - at) <= step_of(curve) / 2) ? point : null;
}

/* The values of the curves that are on; with several traces those of a curve stand together. */
function told_values(chart, at) {
  const told = new Map();
  for (const curve of chart.curves.filter(curve => is_on(chart, curve))) {
    const point = point_at(curve, at), words = told.get(curve.name) || [];
    if (point)
      told.set(curve.name, [...words, (sqtrace.traces.length > 1 ? curve.trace + ' ' : '') + text_of(point[1])]);
  }
  return [...told].map(([name, values]) => `${name} ${values.join(', ')}`).join(sqtrace.traces.length > 1 ? '; ' : ', ');
}

function look(chart, at) {
  chart.at = at;
  const of = sqtrace.traces.length > 1 && chart.curve ? ` A click lists its requests in ${chart.curve.trace}.` : '';
  chart.told.textContent = at == null ? `${chart.series.y}. A click lists the requests of that time.`
    : `${sqtrace.at(at, 0)}: ${told_values(chart, at)}${of && '.' + of}`;
  draw(chart);
}

/* The time that is nearest to the mouse, and the curve that is nearest to it there. */
function nearest(chart, event) {
  const r = chart.svg.getBoundingClientRect(), x = event.clientX - r.left, y = event.clientY - r.top;
  const {from, to} = sqtrace.view;
  const at = times_of(chart).filter(at => at >= from && at <= to)
    .reduce((best, at) => best == null || Math.abs(chart.x(at) - x) < Math.abs(chart.x(best) - x) ? at : best, null);
  let least = Infinity;
  for (const curve of at == null ? [] : chart.curves.filter(curve => is_on(chart, curve))) {
    const point = point_at(curve, at), away = point ? Math.abs(chart.y(point[1]) - y) : Infinity;
    if (away < least)
      [least, chart.curve] = [away, curve];
  }
  return at;
}

/* The requests of a trace that began nearer to this time than to the next ones. */
function open(chart) {
  if (chart.at == null)
    return;
  const curve = chart.curve ?? chart.curves[chart.curves.length - 1], half = step_of(curve) / 2;
  sqtrace.filter({trace: curve.trace, from: Math.max(0, chart.at - half), to: chart.at + half}, {show: true});
}

function key(chart, event) {
  const {from, to} = sqtrace.view, times = times_of(chart).filter(at => at >= from && at <= to);
  const by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
  if (by)
    look(chart, times[Math.max(0, Math.min(times.length - 1, chart.at == null ? 0 : times.indexOf(chart.at) + by))] ?? null);
  else if (event.key == 'Enter')
    open(chart);
  else if (event.key == 'Escape')
    look(chart, null);
  else
    return;
  event.preventDefault();
}

/* ---- the whole ---- */

/* The first curves of a comparison: those with the largest values. */
function first_names(chart) {
  const mean = curve => curve.points.reduce((sum, point) => sum + point[1], 0) / curve.points.length, sizes = new Map();
  for (const curve of chart.curves.filter(curve => !curve.dashed))
    sizes.set(curve.name, Math.max(mean(curve), sizes.get(curve.name) || 0));
  return new Set([...sizes].sort((a, b) => b[1] - a[1]).slice(0, FIRST).map(([name]) => name));
}

/* What a legend switches: curves; with several traces, traces and curves. */
function switches_of(chart) {
  const mark = curve => make('i', {className: `k${curve.colour}${curve.dashed ? percentile() : ''}`});
  if (sqtrace.traces.length == 1)
    return chart.curves.map(curve => ({group: 'curves', text: curve.name, mark: mark(curve), first: true, has: one => one == curve}));
  const names = new Map(chart.curves.map(curve => [curve.name, curve])), traces = new Map(chart.curves.map(curve => [curve.trace, curve]));
  const first = first_names(chart), alone = new Set(chart.curves.map(curve => curve.stem)).size == 1;
  return [...[...traces].map(([trace, curve]) => ({group: 'traces', text: trace, first: true, has: one => one.trace == trace,
    mark: svg('svg', {viewBox: '0 0 30 6', class: alone ? 'k' + curve.colour : ''}, svg('path', {d: 'M0 3H30', class: 'curve' + pattern_of(curve)}))})),
    ...[...names].map(([name, curve]) => ({group: 'curves', text: name, first: first.has(name), has: one => one.name == name,
      mark: alone ? make('i', {className: curve.dashed ? percentile().trim() : ''}) : mark(curve)}))];
}

/* A click switches one of them; with all others of its group off, those of the beginning come back. */
function put_legend(chart) {
  chart.switches = switches_of(chart);
  const show = () => chart.switches.forEach(one => one.button.setAttribute('aria-pressed', one.on));
  for (const one of chart.switches) {
    one.on = one.first;
    one.button = make('button', {type: 'button', onclick: () => {
      const group = chart.switches.filter(other => other.group == one.group);
      one.on = !one.on;
      if (!group.some(other => other.on))
        group.forEach(other => { other.on = other.first; });
      show();
      look(chart, null);
    }}, one.mark, one.text);
  }
  show();
  chart.legend.replaceChildren(...chart.switches.map(one => one.button));
}

/* Takes the series apart when the chart comes into view. */
function fill(chart) {
  const {kept, zero} = curves_of(chart.series);
  chart.curves = kept;
  put_legend(chart);
  if (zero.length)
    chart.legend.append(make('span', {className: 'note'}, `Not drawn, for all their values are 0: ${zero.join(', ')}.`));
  look(chart, null);
}

function begin(series) {
  const openers = [...document.getElementById(series.figure)?.querySelectorAll('a.open') || []];
  if (!openers.length)
    return null;
  series.stacked = series.form == 'stack' && sqtrace.traces.length == 1;
  const chart = {series, at: null, curves: null, svg: svg('svg', {role: 'application', tabindex: 0, 'aria-label': series.title + ': arrow keys tell the values'}),
    legend: make('div', {className: 'curves', role: 'group', 'aria-label': 'Curves'}), told: make('p', {className: 'told', 'aria-live': 'polite'})};
  chart.box = make('div', {className: 'box'}, chart.svg);
  chart.svg.addEventListener('pointermove', event => look(chart, nearest(chart, event)));
  chart.svg.addEventListener('pointerleave', () => look(chart, null));
  chart.svg.addEventListener('click', event => { look(chart, nearest(chart, event)); open(chart); });
  chart.svg.addEventListener('keydown', event => key(chart, event));
  openers[0].closest('figure').querySelector('h3').after(make('div', {className: 'chart'}, chart.legend, chart.box, chart.told));
  for (const opener of openers) {
    opener.classList.add('beside');
    opener.prepend(make('span', {}, 'Picture, series and command'));
    opener.setAttribute('aria-label', 'Picture, series and command: ' + series.title);
  }
  return chart;
}

/* Called once the requests are there. */
sqtrace.charts = () => {
  const charts = (window.sqtraceSeries || []).map(begin).filter(Boolean);
  const seen = new IntersectionObserver(entries => {
    for (const entry of entries) {
      const chart = charts.find(chart => chart.box == entry.target);
      chart.near = entry.isIntersecting;
      if (!chart.near)
        continue;
      if (!chart.curves)
        fill(chart);
      else
        draw(chart);
    }
  }, {rootMargin: '600px'});
  const sized = new ResizeObserver(entries => entries.forEach(entry => {
    const chart = charts.find(chart => chart.box == entry.target);
    if (chart.near)
      draw(chart);
  }));
  for (const chart of charts) {
    seen.observe(chart.box);
    sized.observe(chart.box);
  }
  sqtrace.watch(() => charts.forEach(chart => { if (chart.near) draw(chart); }));
};
})();
