/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * heat.js - the heat map of latency: time against duration, dark where many requests are.  A cell opens its requests.
 */
'use strict';

(() => {
const {make} = sqtrace;
const ROOM = {left: 58, right: 8, top: 8, bottom: 26}; /* CSS px around the map */
const now = {data: null, map: null, drawn: null, at: null};
let canvas, tip, choice, note;

/* ---- what is shown ---- */

/* ns at which a bin begins: bin_bits more binary digits for each doubling, as heat.c has them. */
function bin_ns(heat, bin) {
  const at = bin + heat.first_bin, each = 1 << heat.bin_bits;
  const octave = Math.floor(at / each), bucket = at % each;
  return octave ? (each + bucket) * 2 ** (octave - 1) : bucket;
}

function maps_of(data, by) {
  return data.heat.maps.filter(map => map.by == by && map.cells.length).sort((a, b) => b.requests - a.requests);
}

/* The map that shows what the list shows. */
function map_for(data, filter) {
  for (const by of ['dir', 'server', 'class'])
    if (filter[by]) {
      const map = data.heat.maps.find(map => map.by == by && map.name == filter[by]);
      if (map)
        return map;
    }
  return data.heat.maps.find(map => map.by == 'all');
}

/* First and last bin and slice that have requests. */
function extent(data) {
  const all = data.heat.maps.find(map => map.by == 'all');
  const e = {low: Infinity, high: 0, first: Infinity, last: 0};
  for (let i = 0; all && i < all.cells.length; i += 3) {
    e.first = Math.min(e.first, all.cells[i]);
    e.last = Math.max(e.last, all.cells[i]);
    e.low = Math.min(e.low, all.cells[i + 1]);
    e.high = Math.max(e.high, all.cells[i + 1]);
  }
  /* Of these, what the page shows. */
  const {from, to} = sqtrace.view, slice = data.heat.slice_ns;
  if (all && (from > 0 || to < data.length_ns)) {
    e.first = Math.floor(from / slice);
    e.last = Math.max(e.first, Math.ceil(Math.min(to, data.length_ns) / slice) - 1);
  }
  return e;
}

const is_shown = slice => slice >= now.extent.first && slice <= now.extent.last;

/* ---- drawing ---- */

function colours() {
  const style = getComputedStyle(document.documentElement);
  const get = name => style.getPropertyValue(name).trim();
  return {card: get('--card'), ink: get('--soft'), line: get('--line'), heat: get('--accent'), mark: get('--bad')};
}

function geometry() {
  const width = canvas.clientWidth, height = canvas.clientHeight, e = now.extent;
  const w = width - ROOM.left - ROOM.right, h = height - ROOM.top - ROOM.bottom;
  return {width, height, w, h, dx: w / (e.last - e.first + 1), dy: h / (e.high - e.low + 1)};
}

function put_axes(paint, g, c) {
  const {data, extent: e} = now, heat = data.heat;
  paint.fillStyle = c.ink;
  paint.strokeStyle = c.line;
  paint.font = '12px system-ui, sans-serif';
  paint.textAlign = 'right';
  paint.textBaseline = 'middle';
  for (let power = 3; power < 14; ++power) {
    const ns = 10 ** power;
    const bin = [...Array(e.high - e.low + 2).keys()].map(i => e.low + i).find(bin => bin_ns(heat, bin + 1) > ns);
    if (bin == undefined || bin > e.high || bin_ns(heat, e.low) > ns)
      continue;
    const low = bin_ns(heat, bin), high = bin_ns(heat, bin + 1);
    const y = ROOM.top + g.h - (bin - e.low + (ns - low) / (high - low)) * g.dy;
    if (y < ROOM.top + 5)
      continue;
    paint.fillText(sqtrace.time(ns), ROOM.left - 8, y);
    paint.beginPath();
    paint.moveTo(ROOM.left, y);
    paint.lineTo(ROOM.left + g.w, y);
    paint.stroke();
  }
  paint.textBaseline = 'alphabetic';
  const ticks = Math.max(2, Math.min(7, Math.floor(g.w / 110))), from = e.first * heat.slice_ns;
  const whole = (e.last - e.first + 1) * heat.slice_ns;
  for (let i = 0; i <= ticks; ++i) {
    paint.textAlign = i == 0 ? 'left' : i == ticks ? 'right' : 'center';
    paint.fillText(sqtrace.clock(data, from + whole * i / ticks, whole / ticks < 3e9 ? 1 : 0), ROOM.left + g.w * i / ticks, g.height - 6);
  }
}

function put_cells(paint, g, c) {
  const {map, extent: e} = now;
  let most = 1;
  for (let i = 2; i < map.cells.length; i += 3)
    most = Math.max(most, map.cells[i]);
  paint.fillStyle = c.heat;
  for (let i = 0; i < map.cells.length; i += 3) {
    if (!is_shown(map.cells[i]))
      continue;
    paint.globalAlpha = 0.35 + 0.65 * Math.log1p(map.cells[i + 2] - 1) / Math.max(Math.log(most), 1e-9);
    paint.globalAlpha = Math.min(1, paint.globalAlpha);
    paint.fillRect(ROOM.left + (map.cells[i] - e.first) * g.dx, ROOM.top + g.h - (map.cells[i + 1] - e.low + 1) * g.dy,
      Math.max(3, g.dx - 0.5), Math.max(2.5, g.dy - 0.5));
  }
  paint.globalAlpha = 1;
}

/* The cell that the keyboard or the mouse is at, and the box that the list is filtered by. */
function put_marks(paint, g, c) {
  const {extent: e, filter, data} = now, slice = data.heat.slice_ns;
  const box = (from, to, low, high) => paint.strokeRect(ROOM.left + (from - e.first) * g.dx, ROOM.top + g.h - (high - e.low) * g.dy,
    Math.max(3, (to - from) * g.dx), Math.max(3, (high - low) * g.dy));
  paint.strokeStyle = c.mark;
  paint.lineWidth = 2;
  if (now.at)
    box(now.at.slice, now.at.slice + 1, now.at.bin, now.at.bin + 1);
  if (filter.from != undefined || filter.to != undefined) {
    const from = Math.max(e.first, (filter.from ?? 0) / slice), to = Math.min(e.last + 1, (filter.to ?? Infinity) / slice);
    if (to <= from)
      return;
    const bin = ns => { let b = e.low; while (b <= e.high && bin_ns(data.heat, b) < ns) ++b; return b; };
    box(from, to, filter.min == undefined ? e.low : bin(filter.min), filter.max == undefined ? e.high + 1 : bin(filter.max));
  }
  paint.lineWidth = 1;
}

function draw() {
  const ratio = window.devicePixelRatio || 1;
  if (!now.map || !canvas.clientWidth)
    return;
  canvas.width = canvas.clientWidth * ratio;
  canvas.height = canvas.clientHeight * ratio;
  const paint = canvas.getContext('2d'), g = geometry(), c = colours();
  paint.scale(ratio, ratio);
  paint.fillStyle = c.card;
  paint.fillRect(0, 0, g.width, g.height);
  put_axes(paint, g, c);
  put_cells(paint, g, c);
  put_marks(paint, g, c);
}

/* ---- a cell ---- */

function cell_at(x, y) {
  const g = geometry(), e = now.extent;
  const slice = e.first + Math.floor((x - ROOM.left) / g.dx), bin = e.low + Math.floor((ROOM.top + g.h - y) / g.dy);
  return slice < e.first || slice > e.last || bin < e.low || bin > e.high ? null : {slice, bin};
}

function count_of(at) {
  const {cells} = now.map;
  for (let i = 0; i < cells.length; i += 3)
    if (cells[i] == at.slice && cells[i + 1] == at.bin)
      return cells[i + 2];
  return 0;
}

/* The cell with requests that is nearest; a finger or a mouse need not be exact. */
function nearest(at) {
  const {cells} = now.map;
  let best = null, least = 3;
  for (let i = 0; at && i < cells.length; i += 3) {
    const away = Math.hypot(cells[i] - at.slice, cells[i + 1] - at.bin);
    if (away < least && is_shown(cells[i]))
      [least, best] = [away, {slice: cells[i], bin: cells[i + 1]}];
  }
  return best;
}

function words_of(at) {
  const {data} = now, heat = data.heat, n = count_of(at);
  return `${sqtrace.count(n)} ${n == 1 ? 'request' : 'requests'} of ${sqtrace.time(bin_ns(heat, at.bin))} to ` +
    `${sqtrace.time(bin_ns(heat, at.bin + 1))}, begun from ${sqtrace.clock(data, at.slice * heat.slice_ns)} to ` +
    `${sqtrace.clock(data, (at.slice + 1) * heat.slice_ns)}`;
}

function look(at) {
  now.at = at;
  tip.textContent = at ? words_of(at) + '.' : 'A cell opens its requests; drag to choose several, arrow keys and Enter do it, too.';
  draw();
}

function open_box(a, b) {
  const {data, map} = now, heat = data.heat;
  const [first, last] = [Math.min(a.slice, b.slice), Math.max(a.slice, b.slice)];
  const [low, high] = [Math.min(a.bin, b.bin), Math.max(a.bin, b.bin)];
  const filter = {trace: data.label, from: first * heat.slice_ns, to: (last + 1) * heat.slice_ns,
    min: bin_ns(heat, low), max: bin_ns(heat, high + 1)};
  if (low == 0)
    delete filter.min;
  if (map.by != 'all')
    filter[map.by] = map.name;
  sqtrace.filter(filter, {show: true});
}

/* ---- mouse and keyboard ---- */

const place = event => { const r = canvas.getBoundingClientRect(); return cell_at(event.clientX - r.left, event.clientY - r.top); };

function press(event) {
  now.from = place(event);
  canvas.setPointerCapture(event.pointerId);
}

function release(event) {
  const from = now.from, to = place(event) || now.at;
  now.from = null;
  if (!from || !to)
    return;
  if (from.slice != to.slice || from.bin != to.bin)
    return open_box(from, to);
  const at = nearest(from);
  if (at)
    open_box(at, at);
}

function key(event) {
  const move = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]}[event.key];
  const e = now.extent, {cells} = now.map;
  if (event.altKey || event.ctrlKey || event.metaKey)
    return;
  if (move) {
    /* To the next cell with requests in that direction; at first to the slowest. */
    let best = null, least = Infinity;
    for (let i = 0; i < cells.length; i += 3) {
      const dx = cells[i] - (now.at?.slice ?? e.first), dy = cells[i + 1] - (now.at?.bin ?? e.low);
      const along = dx * move[0] + dy * move[1], across = Math.abs(dx * move[1]) + Math.abs(dy * move[0]);
      const away = now.at ? along + 4 * across : -cells[i + 1];
      if ((along > 0 || !now.at) && away < least && is_shown(cells[i]))
        [least, best] = [away, {slice: cells[i], bin: cells[i + 1]}];
    }
    if (best)
      look(best);
  } else if (event.key == 'Enter' && now.at) {
    open_box(now.at, now.at);
  } else {
    return;
  }
  event.preventDefault();
}

/* ---- the whole ---- */

function make_choice(data) {
  const group = (label, by) => {
    const maps = maps_of(data, by);
    return maps.length ? [make('optgroup', {label}, ...maps.map(map => make('option', {value: data.heat.maps.indexOf(map)},
      `${by == 'class' ? sqtrace.words(map.name) : map.name} (${sqtrace.count(map.requests)})`)))] : [];
  };
  choice.replaceChildren(...maps_of(data, 'all').map(map => make('option', {value: data.heat.maps.indexOf(map)},
    `all requests (${sqtrace.count(map.requests)})`)), ...group('class', 'class'), ...group('server', 'server'), ...group('cache_dir', 'dir'));
}

function begin(box) {
  choice = make('select', {id: 'heat-of', onchange: () => { now.map = now.data.heat.maps[choice.value]; look(null); }});
  tip = make('p', {className: 'note', 'aria-live': 'polite'});
  canvas = make('canvas', {tabIndex: 0, role: 'application', 'aria-label': 'Heat map: when requests began, and how long they took', onpointerdown: press, onpointerup: release,
    onpointermove: event => { const at = place(event); look(now.from ? at : nearest(at)); },
    onpointerleave: () => { if (!now.from) look(null); }, onkeydown: key});
  box.replaceChildren(make('h3', {}, 'Heat map of latency'),
    make('div', {className: 'filters'}, make('div', {}, make('label', {htmlFor: 'heat-of'}, 'of'), choice)), canvas, tip);
  new ResizeObserver(draw).observe(canvas);
  sqtrace.watch(() => { now.extent = extent(now.data); look(null); });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
}

/* Called by the list whenever its filter changes. */
sqtrace.heat = (data, filter) => {
  const box = document.getElementById('heat');
  if (!canvas)
    begin(box);
  if (data != now.data) {
    now.data = data;
    now.extent = extent(data);
    make_choice(data);
  }
  now.filter = filter;
  now.map = map_for(data, filter);
  box.hidden = !now.map || !now.map.cells.length;
  choice.value = data.heat.maps.indexOf(now.map);
  look(null);
};
})();
