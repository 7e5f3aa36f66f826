/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * data.js - the requests that the report has one by one: text.c writes them, this takes them apart.
 *
 * The numbers of all requests are in one array a column.  Spans and waits stay text until somebody looks at them.
 */
'use strict';

const sqtrace = {traces: []};

/* What stands between the columns and the end of a line. */
sqtrace.lists = ['stages', 'spans', 'waits'];

sqtrace.take = raw => {
  const columns = raw.columns.length;
  const text = raw.rows;
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1))
    ++count;
  const data = Object.assign(raw, {
    count, why: new Array(count), column: {}, at: new Uint32Array(count), end: new Uint32Array(count)});
  raw.columns.forEach(name => { data.column[name] = new Float64Array(count); });
  const arrays = raw.columns.map(name => data.column[name]);
  let at = 0;
  for (let row = 0; row < count; ++row) {
    data.why[row] = text[at];
    at += 2;
    for (let c = 0; c < columns; ++c) {
      let value = NaN, sign = 1;
      for (let code; (code = text.charCodeAt(at)) != 124; ++at)
        if (code == 45)
          sign = -1;
        else
          value = (value >= 0 ? value * 10 : 0) + code - 48;
      arrays[c][row] = sign * value;
      ++at;
    }
    data.at[row] = at;
    at = text.indexOf('\n', at) + 1;
    data.end[row] = at - 1;
  }
  data.named = new Set(raw.named);
  data.lanes = [...raw.stages, 'unaccounted', 'blocks'];
  sqtrace.traces.push(data);
  return data;
};

/* A name, '' for none. */
sqtrace.name = (data, row, column) => data.names[data.column[column][row]];

/* One of the lists, as text. */
sqtrace.list = (data, row, which) =>
  data.rows.slice(data.at[row], data.end[row]).split('|')[sqtrace.lists.indexOf(which)];

/* {stage: ns} */
sqtrace.stages = (data, row) => {
  const stages = {};
  for (const [, lane, ns] of sqtrace.list(data, row, 'stages').matchAll(/([A-Z])(\d+)/g))
    stages[data.lanes[lane.charCodeAt(0) - 65]] = Number(ns);
  return stages;
};

/* ns in one stage, or in several together; NaN if it had none of them.  Of all requests this is asked for often. */
sqtrace.inStages = (data, row, letters) => {
  const text = data.rows;
  let sum = NaN;
  for (let at = data.at[row]; text.charCodeAt(at) != 124;) {
    const wanted = letters.includes(text[at]);
    let value = 0;
    for (++at; text.charCodeAt(at) >= 48 && text.charCodeAt(at) < 58; ++at)
      value = value * 10 + text.charCodeAt(at) - 48;
    if (wanted)
      sum = (sum >= 0 ? sum : 0) + value;
  }
  return sum;
};

sqtrace.letter = (data, stage) => String.fromCharCode(65 + data.lanes.indexOf(stage));

/* Spans of a time line: {lane, from, until, spans, busy, queue, service, notice, bytes, index}. */
sqtrace.spans = (data, row) => {
  const names = ['from', 'until', 'spans', 'busy', 'queue', 'service', 'notice', 'bytes', 'index'];
  const spans = [];
  for (const [, lane, numbers] of sqtrace.list(data, row, 'spans').matchAll(/([A-Z])([-\d,]*)/g)) {
    const span = {lane: data.lanes[lane.charCodeAt(0) - 65], spans: 1};
    numbers.split(',').forEach((text, i) => { span[names[i]] = text == '' ? NaN : Number(text); });
    spans.push(span);
  }
  return spans;
};

/* Waits and connections. */
sqtrace.waits = (data, row) => {
  const number = text => text == '' ? NaN : Number(text);
  return (sqtrace.list(data, row, 'waits') || '').split(';').filter(Boolean).map(text => {
    const f = text.split('.');
    return {kind: data.names[f[0]], name: data.names[f[1]], outcome: data.names[f[2]], from: number(f[3]),
      until: number(f[4]), queue: number(f[5]), attempt: f[6] == '1', reused: f[7] == '1'};
  });
};

/* ---- words ---- */

const units = [['s', 1e9], ['ms', 1e6], ['µs', 1e3], ['ns', 1]];

/* Three digits and a unit. */
sqtrace.time = ns => {
  if (!(ns >= 0 || ns < 0))
    return '–';
  const [unit, size] = units.find(([, size]) => Math.abs(ns) >= size) || ['ns', 1];
  const value = ns / size;
  return (size == 1 || Math.abs(value) >= 99.95 ? Math.round(value) : Number(value.toPrecision(3))) + '\u00a0' + unit;
};

sqtrace.bytes = bytes => {
  if (!(bytes >= 0))
    return '–';
  const size = [['GB', 1e9], ['MB', 1e6], ['KB', 1e3]].find(([, size]) => bytes >= size);
  return size ? Number((bytes / size[1]).toPrecision(3)) + '\u00a0' + size[0] : bytes + '\u00a0B';
};

sqtrace.share = share => share > 0 && share < 0.005 ? 'under 1\u00a0%' : Math.round(100 * share) + '\u00a0%';
sqtrace.count = n => String(n).replace(/\B(?=(\d{3})+$)/g, ',');
sqtrace.words = name => name.replaceAll('_', ' ');

const two = n => String(n).padStart(2, '0');

/* The time of day, in the reader's zone; digits: of the fraction. */
sqtrace.clock = (data, ns, digits = 3) => {
  if (!(ns >= 0 || ns < 0))
    return '–';
  const us = Math.round(data.start_ms * 1e3 + ns / 1e3);
  const date = new Date(Math.floor(us / 1e3));
  const fraction = String(us % 1e6).padStart(6, '0').slice(0, digits);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':') + (digits ? '.' + fraction : '');
};

/* Date, time and zone. */
sqtrace.when = (data, ns) => {
  if (!(ns >= 0 || ns < 0))
    return 'not known';
  const date = new Date(data.start_ms + ns / 1e6);
  const zone = -date.getTimezoneOffset();
  const away = two(Math.floor(Math.abs(zone) / 60)) + ':' + two(Math.abs(zone) % 60);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${sqtrace.clock(data, ns, 6)} ` +
    (zone ? 'UTC' + (zone < 0 ? '−' : '+') + away : 'UTC');
};

/* What a person writes for a time: a time of day, or seconds since the start.  ns since the start; NaN: neither.  Of times
 * of day that come several times, the first one in the trace counts, else the one that is nearest to it. */
sqtrace.moment = (data, text) => {
  const clock = /^\s*(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?\s*$/.exec(text);
  if (!clock)
    return text.trim() == '' ? NaN : Number(text.trim().replace(/s$/, '')) * 1e9;
  const end = data.length_ns / 1e6, first = new Date(data.start_ms), all = [];
  for (let day = -1; day * 864e5 <= end + 2 * 864e5; ++day) { /* by the calendar: a day may have 23 or 25 hours */
    const at = new Date(first.getFullYear(), first.getMonth(), first.getDate() + day, Number(clock[1]), Number(clock[2]));
    const again = new Date(at.getTime() + 36e5);
    for (const one of again.getHours() == at.getHours() ? [at, again] : [at]) /* an hour that comes twice */
      all.push(one.getTime() + Number(clock[3] || 0) * 1e3 - data.start_ms);
  }
  const away = ms => ms < -1000 ? -ms : ms > end + 1000 ? ms - end : 0;
  return all.reduce((best, ms) => away(ms) < away(best) ? ms : best) * 1e6;
};

/* ---- making a page ---- */

/* An element; properties whose name has a dash, or is a role, are attributes. */
sqtrace.make = (tag, properties, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {}))
    if (name.includes('-') || name == 'role' || name == 'style' || name == 'for')
      element.setAttribute(name, value);
    else
      element[name] = value;
  element.append(...children);
  return element;
};
