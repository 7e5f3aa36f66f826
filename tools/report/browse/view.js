/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * view.js - the stretch of time that the page shows: a band of the whole trace to choose it on.
 *
 * Figures over time and the heat map call sqtrace.watch() and draw again whenever the stretch changes.
 */
'use strict';

(() => {
const {make} = sqtrace;
const watchers = [];
const LEAST = 0.002; /* of the whole: the shortest stretch */
let canvas, words, drag = null;

/* ns since the start of the trace. */
sqtrace.view = {from: 0, to: Infinity};
sqtrace.watch = watcher => watchers.push(watcher);

/* Several traces are laid over each other, each from its start on. */
const whole = () => Math.max(1, ...sqtrace.traces.map(data => data.length_ns));
const is_whole = () => sqtrace.view.from <= 0 && sqtrace.view.to >= whole();

/* Whether a stretch is shown, and not the whole trace. */
sqtrace.zoomed = () => !is_whole();

/* Shows a stretch; without one, the whole trace. */
sqtrace.zoom = (from, to) => {
  const all = whole(), least = LEAST * all;
  from = from == undefined ? 0 : Math.max(0, Math.min(from, all - least));
  to = to == undefined ? all : Math.min(all, Math.max(to, from + least));
  Object.assign(sqtrace.view, {from, to});
  draw();
  for (const watcher of watchers)
    watcher();
};

/* A time of the figures: the time of day; with several traces, how long after their starts. */
sqtrace.at = (ns, digits) => {
  if (sqtrace.traces.length == 1)
    return sqtrace.clock(sqtrace.traces[0], ns, digits);
  if (whole() < 12e10)
    return (ns / 1e9).toFixed(whole() < 5e9 ? 3 : digits || 1) + ' s';
  const unit = 10 ** (digits || 0), parts = Math.round(ns / 1e9 * unit), s = Math.floor(parts / unit);
  const two = n => String(n).padStart(2, '0'), hours = Math.floor(s / 3600);
  return (hours ? `${hours}:${two(Math.floor(s / 60) % 60)}` : Math.floor(s / 60)) + ':' + two(s % 60) +
    (digits ? '.' + String(parts % unit).padStart(digits, '0') : '');
};

/* ---- the band ---- */

/* Requests that began in each slice, from the heat map. */
function counts(data) {
  const heat = data.heat, all = heat.maps.find(map => map.by == 'all');
  const sums = new Array(Math.max(1, Math.ceil(data.length_ns / heat.slice_ns))).fill(0);
  for (let i = 0; all && i < all.cells.length; i += 3)
    if (all.cells[i] < sums.length)
      sums[all.cells[i]] += all.cells[i + 2];
  return sums;
}

/* The requests of a trace as bars that stand at this height. */
function put_lane(paint, data, bottom, high, get) {
  const {from, to} = sqtrace.view, slice = data.heat.slice_ns;
  const sums = counts(data), most = Math.max(1, ...sums), px = canvas.clientWidth / whole();
  sums.forEach((n, i) => {
    const at = i * slice, within = at + slice > from && at < to;
    paint.fillStyle = within ? get('--accent') : get('--line');
    const bar = n ? Math.max(1.5, n / most * (high - 3)) : 0;
    paint.fillRect(at * px, bottom - bar, Math.max(1, slice * px - 0.5), bar);
  });
}

function draw() {
  if (!canvas)
    return; /* no trace has a length, so there is no band */
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  if (!width)
    return;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const paint = canvas.getContext('2d'), style = getComputedStyle(document.documentElement);
  const get = name => style.getPropertyValue(name).trim();
  const {from, to} = sqtrace.view, high = height / sqtrace.traces.length;
  paint.scale(ratio, ratio);
  paint.fillStyle = get('--card');
  paint.fillRect(0, 0, width, height);
  sqtrace.traces.forEach((data, lane) => put_lane(paint, data, (lane + 1) * high, high, get));
  if (!is_whole()) {
    paint.strokeStyle = get('--bad');
    paint.lineWidth = 2;
    const px = width / whole();
    paint.strokeRect(from * px + 1, 1, Math.max(3, (Math.min(to, whole()) - from) * px - 2), height - 2);
  }
  const digits = to - from < 5e9 ? 3 : 0;
  words.textContent = is_whole() ? `${told_whole()}: drag over the band to zoom all figures over time.`
    : `${sqtrace.at(from, digits)} to ${sqtrace.at(to, digits)}, ${sqtrace.time(to - from)}`;
  canvas.setAttribute('aria-valuetext', words.textContent);
}

const told_whole = () => sqtrace.traces.length == 1 ? 'The whole trace'
  : `${sqtrace.traces.map(data => data.label).join(' above ')}, each from its start on`;

/* ---- mouse and keyboard ---- */

function moment(event) {
  const r = canvas.getBoundingClientRect();
  return Math.max(0, Math.min(1, (event.clientX - r.left) / r.width)) * whole();
}

function move(event) {
  if (drag == null)
    return;
  const at = moment(event);
  if (Math.abs(at - drag) > 0.01 * whole())
    sqtrace.zoom(Math.min(drag, at), Math.max(drag, at));
}

function release(event) {
  if (drag != null && Math.abs(moment(event) - drag) <= 0.01 * whole())
    sqtrace.zoom(); /* a click */
  drag = null;
}

/* by: what the stretch becomes times longer; to: how many of its lengths it moves. */
function change(by, to) {
  const {from, to: until} = sqtrace.view, length = until - from, middle = (from + until) / 2 + to * length;
  const half = Math.min(whole(), length * by) / 2, begin = Math.max(0, Math.min(whole() - 2 * half, middle - half));
  sqtrace.zoom(begin, begin + 2 * half);
}

function key(event) {
  const steps = {ArrowLeft: [1, -0.25], ArrowRight: [1, 0.25], ArrowUp: [0.5, 0], ArrowDown: [2, 0], '+': [0.5, 0], '-': [2, 0]};
  if (event.altKey || event.ctrlKey || event.metaKey)
    return;
  if (steps[event.key])
    change(...steps[event.key]);
  else if (event.key == 'Escape' || event.key == 'Home')
    sqtrace.zoom();
  else
    return;
  event.preventDefault();
}

/* Called once the requests are there. */
sqtrace.band = () => {
  const box = document.getElementById('band');
  if (!box || !sqtrace.traces.some(data => data.length_ns > 0))
    return;
  words = make('span', {'aria-live': 'polite'});
  canvas = make('canvas', {tabIndex: 0, role: 'slider', 'aria-label': 'The stretch of time that figures show. Arrow keys move it, plus and minus zoom, Escape shows the whole trace.',
    onpointerdown: event => { drag = moment(event); canvas.setPointerCapture(event.pointerId); },
    onpointermove: move, onpointerup: release, onpointercancel: () => { drag = null; }, onkeydown: key});
  const button = (text, label, onclick) => make('button', {type: 'button', 'aria-label': label, onclick}, text);
  box.replaceChildren(canvas, make('p', {}, words, button('+', 'Zoom in', () => change(0.5, 0)), button('−', 'Zoom out', () => change(2, 0)),
    button('Whole trace', 'Whole trace', () => sqtrace.zoom()),
    button('List its requests', 'List its requests', () => sqtrace.filter({from: sqtrace.view.from, to: sqtrace.view.to}, {show: true}))));
  box.hidden = false;
  document.documentElement.classList.add('has-band');
  sqtrace.view.to = whole();
  new ResizeObserver(draw).observe(canvas);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  draw();
};
})();
