/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * waterfall.js - one request: its stages, blocks, waits and connections on a time line, and what is known of it.
 */
'use strict';

(() => {
const {make} = sqtrace;
const now = {data: null, row: 0, from: null};
let dialog, body, title;

/* ---- lanes ---- */

/* {title, spans: [{from, until, kind, text, parts}]} of each stage, in the order in which they began. */
function stage_lanes(spans) {
  const lanes = new Map();
  for (const span of spans) {
    if (span.lane == 'blocks')
      continue;
    if (!lanes.has(span.lane))
      lanes.set(span.lane, {title: sqtrace.words(span.lane), spans: []});
    const many = span.spans > 1 ? `${span.spans} times, together ` : '';
    const busy = span.busy >= 0 ? span.busy : span.until - span.from;
    lanes.get(span.lane).spans.push({from: span.from, until: span.until, busy, kind: 'part-' + span.lane,
      text: `${sqtrace.words(span.lane)}: ${many}${sqtrace.time(busy)}, from ` +
        `${sqtrace.time(span.from)}`});
  }
  return [...lanes.values()].sort((a, b) => a.spans[0].from - b.spans[0].from);
}

function block_words(span) {
  const known = ['queue', 'service', 'notice'].filter(part => span[part] >= 0);
  return (span.spans > 1 ? `${sqtrace.count(span.spans)} blocks from block ${span.index}` : `block ${span.index}`) +
    `, ${sqtrace.bytes(span.bytes)}: ${sqtrace.time(span.busy)}` +
    (known.length ? ' (' + known.map(part => `${part} ${sqtrace.time(span[part])}`).join(', ') + ')' : '');
}

/* Blocks that overlap are below one another. */
function block_lanes(spans) {
  const lanes = [];
  for (const span of spans.filter(span => span.lane == 'blocks').sort((a, b) => a.from - b.from)) {
    let lane = lanes.find(lane => lane.end <= span.from);
    if (!lane && lanes.length < 6)
      lanes.push(lane = {title: lanes.length ? '' : 'blocks', spans: [], end: 0});
    lane ||= lanes[lanes.length - 1];
    lane.end = Math.max(lane.end, span.until);
    lane.spans.push({from: span.from, until: span.until, busy: span.busy, kind: 'block', text: block_words(span),
      parts: ['queue', 'service', 'notice'].map(part => [part, span[part] >= 0 ? span[part] : 0])});
  }
  return lanes;
}

function wait_lanes(waits) {
  return waits.filter(wait => !isNaN(wait.from)).map(wait => {
    const until = wait.until >= 0 ? wait.until : wait.from;
    const what = wait.attempt ? (wait.reused ? 'kept connection to ' : 'connecting to ') : '';
    const name = what + (wait.name || wait.kind || 'not named');
    const queue = wait.queue > 0 ? (wait.attempt ? `, then TLS from ${sqtrace.time(wait.queue)} on` : `, ${sqtrace.time(wait.queue)} of it in the queue`) : '';
    return {title: name, spans: [{from: wait.from, until, busy: until - wait.from, kind: wait.attempt ? 'part-connect' : 'part-helper',
      text: `${wait.kind ? wait.kind + ' ' : ''}${name}: ${sqtrace.time(until - wait.from)}${queue}, ${wait.outcome}`}]};
  });
}

function put_lane(lane, total) {
  const track = make('div', {className: 'track'});
  for (const span of lane.spans) {
    const from = Math.max(0, Math.min(100, 100 * span.from / total));
    const width = Math.max(0, Math.min(100 - from, 100 * (span.until - span.from) / total));
    /* Several spans that are drawn as one are as high as the share of its time that is theirs. */
    const height = Math.max(0.12, Math.min(1, span.busy / (span.until - span.from || 1)));
    const mark = make('i', {className: span.kind, title: span.text,
      style: `left:${from.toFixed(4)}%;width:${width.toFixed(4)}%;top:${(50 - 42 * height).toFixed(1)}%;height:${(84 * height).toFixed(1)}%`});
    for (const [part, ns] of span.parts || [])
      if (ns > 0)
        mark.append(make('b', {className: part, style: 'flex-grow:' + ns}));
    track.append(mark);
  }
  const time = lane.spans.reduce((sum, span) => sum + span.busy, 0);
  return [make('span', {className: 'lane', title: lane.title}, lane.title), track, make('span', {className: 'sum'}, sqtrace.time(time))];
}

/* Ticks of about 4 to 8 round numbers. */
function put_axis(total) {
  const rough = total / 5, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(n => n * power).find(step => step >= rough);
  const axis = make('div', {className: 'axis track', 'aria-hidden': 'true'});
  for (let at = 0; at <= total; at += step)
    axis.append(make('span', {style: `left:${100 * at / total}%`}, at ? sqtrace.time(at) : '0'));
  return [make('span', {className: 'lane'}), axis, make('span', {className: 'sum'})];
}

function put_waterfall(data, row) {
  const spans = sqtrace.spans(data, row);
  const total = data.column.total_ns[row];
  if (!(total > 0) || !spans.length)
    return make('p', {className: 'empty'}, total > 0 ? 'The page had no room for the time line of this request.'
      : 'Records of it are missing, or a clock stepped: its durations are not known.');
  const waits = sqtrace.waits(data, row);
  const lanes = [...stage_lanes(spans), ...wait_lanes(waits), ...block_lanes(spans)];
  const grid = make('div', {className: 'waterfall'}, ...put_axis(total), ...lanes.flatMap(lane => put_lane(lane, total)));
  const key = spans.some(span => span.lane == 'blocks')
    ? make('p', {className: 'note blocks-key'}, 'Blocks: ', make('b', {className: 'queue'}), ' queue (waiting for the I/O to begin), ',
      make('b', {className: 'service'}), ' service (the I/O), ', make('b', {className: 'notice'}), ' notice (until Squid saw that it was done).') : '';
  return make('div', {}, grid, key);
}

/* ---- what is known ---- */

function facts(data, row) {
  const c = data.column, name = column => sqtrace.name(data, row, column);
  const time = column => c[column][row] >= 0 ? sqtrace.time(c[column][row]) : '';
  const stages = Object.entries(sqtrace.stages(data, row)).filter(([, ns]) => ns > 0).sort((a, b) => b[1] - a[1]);
  const largest = stages.slice(0, 3).map(([stage, ns]) =>
    `${sqtrace.words(stage)} ${sqtrace.time(ns)} (${sqtrace.share(ns / c.total_ns[row])})`);
  return [
    ['began', sqtrace.when(data, c.time_s[row]) + `, ${(c.time_s[row] / 1e9).toFixed(6)} s after the start of the trace`],
    ['total', time('total_ns') && time('total_ns') + (time('first_byte_ns') ? `; first byte of the reply after ${time('first_byte_ns')}` : '')],
    ['most of it', largest.join(', ')],
    ['result', [name('method'), name('tag'), c.status[row] > 0 ? c.status[row] : '', name('outcome') == 'complete' ? '' : name('outcome')].filter(Boolean).join(' ')],
    ['class', sqtrace.words(name('class')) + (name('miss_reason') ? `; no hit because: ${sqtrace.words(name('miss_reason'))}` : '') +
      (c.collapsed[row] ? '; it followed the fetch of another request' : '')],
    ['server', name('server') && name('server') + (c.tries[row] > 1 ? `, ${c.tries[row]} tries` : '')],
    ['host of the URL', name('url_host')],
    ['client', [name('client'), name('user_name')].filter(Boolean).join(', user ')],
    ['cache_dir', name('dir')],
    ['size', (c.size_bytes[row] >= 0 ? `${sqtrace.bytes(c.size_bytes[row])} of body, ` : '') + `${sqtrace.bytes(c.sent_bytes[row])} sent`],
    ['before it', [['accept_wait_ns', 'waited to be accepted'], ['client_connect_ns', 'until its header was read'],
      ['client_tls_ns', 'TLS with the client']].filter(([column]) => c[column][row] > 0)
      .map(([column, words]) => `${words} ${time(column)}`).join(', ')],
    ['event loop', c.loop_held_ns[row] > 0 ? `held for ${time('loop_held_ns')} of this time` : ''],
    ['ids', `xid ${c.xid[row] >= 0 ? c.xid[row] : '–'} (%master_xaction of access.log), kid ${c.kid[row] >= 0 ? c.kid[row] : '–'}, client connection ` +
      `${c.conn[row] >= 0 ? c.conn[row] : '–'}`],
  ].filter(([, text]) => text);
}

function commands(data, row) {
  const c = data.column;
  if (!(c.xid[row] >= 0))
    return [];
  const where = `xid == ${c.xid[row]} and kid == ${c.kid[row]}`;
  return ['requests', 'ios', 'waits', 'connections'].map(table => `sqtrace-dump --table=${table} --where='${where}' TRACE`);
}

/* ---- the dialog ---- */

function make_dialog() {
  title = make('h3', {id: 'request-title'});
  body = make('div', {className: 'words'});
  const step = by => make('button', {type: 'button', onclick: () => now.from?.step(by)}, by < 0 ? 'Previous' : 'Next');
  dialog = make('dialog', {id: 'request', 'aria-labelledby': 'request-title'},
    make('header', {}, title, step(-1), step(1), make('button', {type: 'button', autofocus: true, className: 'close', onclick: () => dialog.close()}, 'Close')), body);
  dialog.addEventListener('close', () => {
    if (now.from?.opener.isConnected)
      now.from.opener.focus();
    sqtrace.note('push');
  });
  dialog.addEventListener('click', event => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener('keydown', event => {
    const by = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (by && !event.altKey && !event.ctrlKey && !event.metaKey)
      now.from?.step(by);
  });
  document.body.append(dialog);
}

/* from: {opener: what gets the focus afterwards, step: shows the request so many after it}. */
sqtrace.open = (data, row, from) => {
  if (!dialog)
    make_dialog();
  Object.assign(now, {data, row, from});
  const xid = data.column.xid[row];
  title.textContent = `Request ${xid >= 0 ? xid : 'without a number'} of kid ${data.column.kid[row]}` +
    `, ${sqtrace.time(data.column.total_ns[row])}`;
  body.replaceChildren(put_waterfall(data, row),
    make('dl', {}, ...facts(data, row).flatMap(([name, text]) => [make('dt', {}, name), make('dd', {}, String(text))])),
    make('details', {}, make('summary', {}, 'The same in a terminal'),
      make('pre', {tabIndex: 0}, make('code', {}, commands(data, row).join('\n') || 'It has no xid.'))));
  const was_open = dialog.open;
  if (!was_open)
    dialog.showModal();
  dialog.scrollTop = 0;
  sqtrace.note(was_open ? 'replace' : 'push');
};

/* The open request, as the address has it. */
sqtrace.opened = () => dialog?.open && now.data.column.xid[now.row] >= 0
  ? {request: `${now.data.column.kid[now.row]}.${now.data.column.xid[now.row]}`} : {};
sqtrace.close = () => dialog?.close();
})();
