/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * list.js - the list of requests: filters, order, rows.
 *
 * A link anywhere on the page with data-filter, as in "class=miss&stage=dns", opens the list with that filter.
 * address.js keeps the filter in the page's address.
 */
'use strict';

(() => {
const {make} = sqtrace;
const STEP = 50; /* rows that are shown at a time */
const state = {data: null, filter: {}, by: 'total_ns', down: true, rows: [], shown: STEP, at: 0};
const parts = {};

/* ---- what is asked for ---- */

/* Filters that are chosen from what there is, and how they are called. */
const chosen = {class: 'class', server: 'server', dir: 'cache_dir', stage: 'stage', status: 'status',
  outcome: 'outcome', miss_reason: 'miss reason'};

const numbers = ['from', 'to', 'min', 'max', 'accept_wait', 'client_tls', 'loop_held'];
const filters = [...Object.keys(chosen), ...numbers, 'tag', 'kid', 'xid', 'text'];

/* Whether a filter can have that value: an address may have been written by anybody. */
function is_value(name, value) {
  return value != '' && (numbers.includes(name) ? Number(value) == Number(value)
    : name == 'stage' ? value.split(',').every(stage => state.data.lanes.includes(stage))
    : name == 'status' ? /^\d(xx|\d*)$/.test(value)
    : name == 'kid' || name == 'xid' ? /^\d+$/.test(value)
    : !/[\p{Cc}"]/u.test(value));
}

/* What a search looks at beside the xid. */
const searched = ['server', 'url_host', 'client', 'user_name'];

/* The part of a text that the page can look for: of a URL the host. */
const wanted_of = text =>
  (/^[a-z][a-z0-9+.-]*:\/\/(?:[^/?#@]*@)?(\[[^\]/?#]*\]|[^/?#:]*)/i.exec(text.trim())?.[1] ?? text.trim()).toLowerCase();

function found(data, text) {
  const wanted = wanted_of(text);
  if (/^\d+$/.test(wanted))
    return row => data.column.xid[row] == wanted;
  const numbers = new Set(data.names.flatMap((name, i) => name.toLowerCase().includes(wanted) ? [i] : []));
  const columns = searched.filter(name => data.column[name]).map(name => data.column[name]);
  return row => columns.some(column => numbers.has(column[row]));
}

/* The same as a pattern of sqtrace-dump, which minds the case of letters. */
const pattern_of = wanted => wanted.replace(/[*?[a-z\\]/g, sign => sign == '\\' ? '?' : /[a-z]/.test(sign) ? `[${sign}${sign.toUpperCase()}]` : `[${sign}]`);

/* Conditions on a row; each is a function of it. */
function conditions(data, filter) {
  const tests = [], column = data.column;
  for (const name of ['class', 'server', 'outcome', 'miss_reason', 'dir', 'tag'])
    if (filter[name]) {
      const number = data.names.indexOf(filter[name]);
      tests.push(row => column[name][row] == number);
    }
  if (filter.kid)
    tests.push(row => column.kid[row] == filter.kid);
  if (filter.xid)
    tests.push(row => column.xid[row] == filter.xid);
  if (filter.text)
    tests.push(found(data, filter.text));
  if (filter.status) {
    const [low, high] = bounds_of(filter.status);
    tests.push(row => column.status[row] >= low && column.status[row] <= high);
  }
  if (filter.stage) {
    const letters = letters_of(data, filter.stage);
    tests.push(row => sqtrace.inStages(data, row, letters) > 0);
  }
  for (const [name, key, sign] of [['from', 'time_s', 1], ['to', 'time_s', -1], ['min', 'total_ns', 1],
                                   ['max', 'total_ns', -1], ['accept_wait', 'accept_wait_ns', 1],
                                   ['client_tls', 'client_tls_ns', 1], ['loop_held', 'loop_held_ns', 1]])
    if (filter[name] != undefined)
      tests.push(sign > 0 ? row => column[key][row] >= filter[name] : row => column[key][row] < filter[name]);
  return tests;
}

/* The first and the last status of "4xx", or of "404". */
function bounds_of(status) {
  return /xx$/.test(status) ? [status[0] * 100, status[0] * 100 + 99] : [status, status];
}

function letters_of(data, stages) {
  return stages.split(',').map(stage => sqtrace.letter(data, stage)).join('');
}

function value_of(data, by) {
  if (by == 'stage') {
    const letters = letters_of(data, state.filter.stage || '');
    return row => sqtrace.inStages(data, row, letters);
  }
  const column = data.column[by];
  return data.named.has(by) ? row => data.names[column[row]] : row => column[row];
}

/* Those without a value come last, whatever the order. */
function compared(a, b, sign) {
  if (a === b)
    return 0;
  if (a !== a || a === '')
    return 1;
  if (b !== b || b === '')
    return -1;
  return a < b ? -sign : sign;
}

function choose() {
  const data = state.data, tests = conditions(data, state.filter), rows = [];
  for (let row = 0; row < data.count; ++row)
    if (tests.every(test => test(row)))
      rows.push(row);
  const value = value_of(data, state.by), sign = state.down ? -1 : 1;
  const keys = new Map(rows.map(row => [row, value(row)]));
  state.rows = rows.sort((a, b) => compared(keys.get(a), keys.get(b), sign) || a - b);
  state.shown = STEP;
  state.at = 0;
}

/* ---- the table ---- */

/* Columns: title, whether phones have it too, what a cell holds. */
const columns = [
  ['time_s', 'began', true, began],
  ['total_ns', 'total', true, (d, r) => sqtrace.time(d.column.total_ns[r])],
  ['stage', 'in stage', true, (d, r) => sqtrace.time(sqtrace.inStages(d, r, letters_of(d, state.filter.stage)))],
  [null, 'stages', true, bar],
  ['class', 'class', true, (d, r) => sqtrace.words(sqtrace.name(d, r, 'class'))],
  ['status', 'status', false, (d, r) => d.column.status[r] > 0 ? d.column.status[r] : '–'],
  ['server', 'server', false, (d, r) => sqtrace.name(d, r, 'server') || '–'],
  ['dir', 'cache_dir', false, (d, r) => sqtrace.name(d, r, 'dir') || '–'],
  ['size_bytes', 'size', false, (d, r) => sqtrace.bytes(d.column.size_bytes[r])],
  ['outcome', 'outcome', false, (d, r) => sqtrace.name(d, r, 'outcome')],
  ['kid', 'kid', false, (d, r) => d.column.kid[r]],
  ['xid', 'xid', false, (d, r) => d.column.xid[r] >= 0 ? d.column.xid[r] : '–'],
];

/* Phones have no room for the fraction. */
function began(data, row) {
  const [whole, fraction] = sqtrace.clock(data, data.column.time_s[row]).split('.');
  return fraction ? make('span', {}, whole, make('span', {className: 'more'}, '.' + fraction)) : whole;
}

const lefts = [null, 'class', 'server', 'outcome', 'dir'];
const kind = (key, always) => (always && !(key == null && state.filter.stage) ? '' : 'more ') + (lefts.includes(key) ? 'text' : '');

function bar(data, row) {
  const stages = Object.entries(sqtrace.stages(data, row)).filter(([, ns]) => ns > 0).sort((a, b) => b[1] - a[1]);
  const total = data.column.total_ns[row];
  const words = stages.slice(0, 4).map(([stage, ns]) => `${sqtrace.words(stage)} ${sqtrace.share(ns / total)}`);
  const element = make('span', {className: 'stages', role: 'img', 'aria-label': words.join(', '), title: words.join(', ')});
  for (const [stage, ns] of stages)
    element.append(make('i', {className: 'part-' + stage, style: 'flex-grow:' + ns / total}));
  return element;
}

function columns_now() {
  return columns.filter(([key]) => key != 'stage' || state.filter.stage)
    .filter(([key]) => key != 'dir' || parts.has.dir).filter(([key]) => key != 'server' || parts.has.server);
}

function put_head() {
  parts.head.replaceChildren(...columns_now().map(([key, title, always]) => {
    const cell = make('th', {className: kind(key, always), scope: 'col'});
    if (!key) {
      cell.append(title);
      return cell;
    }
    const now = key == state.by;
    cell.setAttribute('aria-sort', !now ? 'none' : state.down ? 'descending' : 'ascending');
    cell.append(make('button', {type: 'button', onclick: () => order(key)},
      title + (!now ? '' : state.down ? ' ↓' : ' ↑')));
    return cell;
  }));
}

function put_row(row, place) {
  const data = state.data;
  const line = make('tr', {tabIndex: place == state.at ? 0 : -1, className: 'request'});
  line.dataset.place = place;
  line.append(...columns_now().map(([key, , always, cell]) => make('td', {className: kind(key, always)},
    cell(data, row))));
  return line;
}

function put_rows() {
  const data = state.data;
  parts.body.replaceChildren(...state.rows.slice(0, state.shown).map(put_row));
  parts.more.hidden = state.rows.length <= state.shown;
  parts.more.textContent = `Show ${Math.min(STEP, state.rows.length - state.shown)} more`;
  const n = state.rows.length;
  put_command();
  parts.count.textContent = n == 0 ? 'No request of those that the page has is like that.'
    : n == data.count ? `All ${sqtrace.count(n)} requests that the page has.`
    : `${sqtrace.count(n)} of the ${sqtrace.count(data.count)} requests that the page has.`;
}

/* ---- the same of the whole trace ---- */

/* A text within --where='...'. */
const quoted = text => '"' + String(text).replaceAll("'", "'\\''") + '"';

/* The filter as a condition of --where. */
function where_of(filter) {
  const any = all => all.length > 1 ? `(${all.join(' or ')})` : all.join(), seconds = ns => Number((ns / 1e9).toFixed(9));
  const all = ['class', 'server', 'outcome', 'miss_reason', 'dir', 'tag'].filter(name => filter[name])
    .map(name => `${name} == ${quoted(filter[name])}`);
  for (const name of ['kid', 'xid'])
    if (filter[name])
      all.push(`${name} == ${Number(filter[name])}`);
  if (filter.text) {
    const wanted = wanted_of(filter.text), columns = parts.hosts ? searched : ['server'];
    all.push(/^\d+$/.test(wanted) ? `xid == ${wanted}` : any(columns.map(name => `${name} ~ ${quoted('*' + pattern_of(wanted) + '*')}`)));
  }
  if (filter.status) {
    const [low, high] = bounds_of(filter.status);
    all.push(low == high ? `status == ${low}` : `status >= ${low} and status <= ${high}`);
  }
  if (filter.stage)
    all.push(any(filter.stage.split(',').map(stage => `${stage}_ns > 0`)));
  for (const [name, column, sign] of [['from', 'time_s', '>='], ['to', 'time_s', '<']])
    if (filter[name] != undefined)
      all.push(`${column} ${sign} ${seconds(filter[name])}`);
  for (const [name, column, sign] of [['min', 'total_ns', '>='], ['max', 'total_ns', '<'], ['accept_wait', 'accept_wait_ns', '>='],
                                      ['client_tls', 'client_tls_ns', '>='], ['loop_held', 'loop_held_ns', '>=']])
    if (filter[name] != undefined)
      all.push(`${column} ${sign} ${filter[name]}`);
  return all.join(' and ');
}

/* The command that lists them all; open where the page has none. */
function put_command() {
  const where = where_of(state.filter), {data} = state;
  parts.command.hidden = !where;
  parts.command.open = !state.rows.length && data.count < data.all;
  parts.code.textContent = `sqtrace-dump --where='${where}'${parts.hosts ? ' --access-log=FILE' : ''} TRACE`;
}

function refresh() {
  choose();
  put_head();
  put_rows();
  put_form();
  sqtrace.heat?.(state.data, state.filter);
}

function order(key) {
  state.down = key == state.by ? !state.down : !state.data.named.has(key);
  state.by = key;
  choose();
  put_head();
  put_rows();
  sqtrace.note('push');
  parts.head.querySelector('[aria-sort]:not([aria-sort="none"]) button')?.focus();
}

/* ---- rows by mouse and keyboard ---- */

function go(place) {
  if (place < 0 || place >= state.rows.length)
    return;
  while (place >= state.shown)
    more();
  parts.body.children[state.at].tabIndex = -1;
  state.at = place;
  parts.body.children[place].tabIndex = 0;
  parts.body.children[place].focus();
}

function more() {
  const from = state.shown;
  state.shown += STEP;
  parts.body.append(...state.rows.slice(from, state.shown).map((row, i) => put_row(row, from + i)));
  parts.more.hidden = state.rows.length <= state.shown;
}

function open_at(place) {
  go(place);
  sqtrace.open(state.data, state.rows[place], {
    opener: parts.body.children[place],
    step: by => state.rows[place + by] != undefined && open_at(place + by)});
}

function key(event) {
  const line = event.target.closest('tr.request');
  const move = {ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10}[event.key];
  if (!line || event.altKey || event.ctrlKey || event.metaKey)
    return;
  if (event.key == 'Enter' || event.key == ' ')
    open_at(Number(line.dataset.place));
  else if (move)
    go(Math.max(0, Math.min(state.rows.length - 1, state.at + move)));
  else if (event.key == 'Home')
    go(0);
  else
    return;
  event.preventDefault();
}

/* ---- the form ---- */

function values_of(data, name) {
  if (name == 'stage')
    return data.lanes.filter(lane => lane != 'blocks' && parts.stages.has(lane));
  if (name == 'status') {
    const all = [...new Set(data.column.status)].filter(status => status > 0).sort((a, b) => a - b).map(String);
    const groups = [...new Set(all.map(status => status[0] + 'xx'))];
    return [...groups, ...all];
  }
  return [...new Set(data.column[name])].map(number => data.names[number]).filter(Boolean).sort();
}

function stages_of(data) {
  const seen = new Set();
  for (let row = 0; row < data.count; ++row) {
    for (let at = data.at[row]; data.rows.charCodeAt(at) != 124; ++at)
      if (data.rows.charCodeAt(at) > 64)
        seen.add(data.rows.charCodeAt(at) - 65);
    if (seen.size >= data.lanes.length - 1)
      break;
  }
  return new Set([...seen].map(lane => data.lanes[lane]));
}

function set(name, value) {
  if (value === '' || value == undefined || value !== value)
    delete state.filter[name];
  else
    state.filter[name] = value;
  if (name == 'stage')
    [state.by, state.down] = [value ? 'stage' : 'total_ns', true];
  refresh();
  sqtrace.note('push');
}

function field(label, control) {
  control.id = 'browse-' + control.name;
  return make('div', {}, make('label', {htmlFor: control.id}, label), control);
}

function make_form() {
  parts.fields = {};
  const search = make('input', {name: 'text', type: 'search', size: 20, placeholder: 'xid, server, host, client', onchange: () => set('text', search.value.replaceAll('"', '').trim())});
  parts.fields.text = search;
  parts.form.append(field('search', search));
  for (const [name, label] of Object.entries(chosen)) {
    const control = make('select', {name, onchange: () => set(name, control.value)});
    parts.fields[name] = control;
    parts.form.append(field(label, control));
  }
  const texts = {from: ['from', 'time or s'], to: ['until', 'time or s'], min: ['at least', 'ms'], max: ['less than', 'ms']};
  for (const [name, [label, hint]] of Object.entries(texts)) {
    const control = make('input', {name, type: 'text', size: 10, placeholder: hint, onchange: () => typed(name, control)});
    parts.fields[name] = control;
    parts.form.append(field(label, control));
  }
  parts.form.append(make('button', {type: 'button', className: 'all', onclick: () => { filter({}); sqtrace.note('push'); }}, 'All requests'));
}

function typed(name, control) {
  const value = name == 'min' || name == 'max' ? (control.value.trim() == '' ? NaN : Number(control.value.replace(/\s*ms$/, '')) * 1e6)
                                               : sqtrace.moment(state.data, control.value);
  const wrong = control.value.trim() != '' && value !== value;
  control.setAttribute('aria-invalid', wrong);
  if (wrong)
    parts.count.textContent = `“${control.value}” is not understood: write 12:03:10 or 90 (s) for a time, 20 (ms) for a duration.`;
  else
    set(name, value);
}

function put_form() {
  const data = state.data, filter = state.filter;
  for (const name of Object.keys(chosen)) {
    const control = parts.fields[name], values = parts.values[name];
    const now = filter[name] || '';
    const all = values.includes(now) || !now ? values : [...values, now];
    control.replaceChildren(make('option', {value: ''}, 'any'),
      ...all.map(value => make('option', {value}, name == 'server' || name == 'dir' ? value : sqtrace.words(value))));
    control.value = now;
    control.parentElement.hidden = all.length < 2 && !now;
  }
  parts.fields.text.value = filter.text || '';
  for (const name of ['from', 'to'])
    parts.fields[name].value = filter[name] == undefined ? '' : sqtrace.clock(data, filter[name]);
  for (const name of ['from', 'to', 'min', 'max'])
    parts.fields[name].removeAttribute('aria-invalid');
  for (const name of ['min', 'max'])
    parts.fields[name].value = filter[name] == undefined ? '' : Number((filter[name] / 1e6).toPrecision(4)) + ' ms';
  for (const control of Object.values(parts.fields))
    control.parentElement.classList.toggle('set', control.value != '');
}

/* ---- from elsewhere ---- */

const usual_order = () => state.filter.stage ? 'stage' : 'total_ns';

/* The filter and the order, as filter() takes them. */
sqtrace.listed = () => ({...(state.data == sqtrace.traces[0] ? {} : {trace: state.data.label}), ...state.filter,
  ...(state.by == usual_order() ? {} : {sort: state.by}), ...(state.down ? {} : {up: 1})});

/* Opens the request KID.XID; without one, closes what is open. */
sqtrace.find = request => {
  const [kid, xid] = (request || '').split('.'), {column} = state.data;
  const place = request ? state.rows.findIndex(row => column.kid[row] == kid && column.xid[row] == xid) : -1;
  if (place >= 0)
    open_at(place);
  else
    sqtrace.close();
};

/* Shows the requests of a filter; opens the list where the reader can see it. */
function filter(wanted, options = {}) {
  const trace = sqtrace.traces.findIndex(data => data.label == wanted.trace);
  if (trace >= 0)
    choose_trace(trace);
  const {sort, open, up} = wanted;
  state.filter = Object.fromEntries(filters.filter(name => wanted[name] != undefined && is_value(name, String(wanted[name])))
    .map(name => [name, numbers.includes(name) ? Number(wanted[name]) : String(wanted[name])]));
  state.by = sort == 'stage' || Object.hasOwn(state.data.column, sort) ? sort : usual_order();
  state.down = !up;
  refresh();
  if (options.show) {
    sqtrace.note('push');
    document.getElementById('list').scrollIntoView();
    if (state.rows.length)
      go(0);
    if (open && state.rows.length)
      open_at(0);
  }
}
sqtrace.filter = filter;

function choose_trace(number) {
  const data = state.data = sqtrace.traces[number];
  parts.stages = stages_of(data);
  parts.values = Object.fromEntries(Object.keys(chosen).map(name => [name, values_of(data, name)]));
  parts.hosts = [...new Set(data.column.url_host)].some(number => data.names[number]);
  parts.has = {dir: parts.values.dir.length > 0, server: parts.values.server.length > 0};
  state.filter = {};
  put_about(data);
  if (parts.trace)
    parts.trace.value = number;
}

/* Which requests the page has. */
function put_about(d) {
  const all = d.count == d.all;
  parts.about.textContent = all
    ? `The page has all ${sqtrace.count(d.all)} requests of the trace.`
    : `The page has ${sqtrace.count(d.count)} of the ${sqtrace.count(d.all)} requests of the trace: the ` +
      `${d.slowest} slowest of each class in every ${sqtrace.time(d.slow_slice_ns)} (${sqtrace.count(d.slow)}), ` +
      `${sqtrace.count(d.bad)} more of those that did not complete, and ${sqtrace.count(d.rest)} of the rest, ` +
      'chosen by a hash, so that each has the same chance. The heat map counts all of them.';
}

function begin(place) {
  parts.about = make('p', {className: 'note'});
  parts.form = make('form', {className: 'filters', onsubmit: event => event.preventDefault()});
  parts.form.setAttribute('aria-label', 'Filters');
  parts.count = make('p', {className: 'note', 'aria-live': 'polite'});
  parts.code = make('code');
  parts.command = make('details', {className: 'note'}, make('summary', {}, 'All such requests of the trace, in a terminal'),
    make('pre', {tabIndex: 0}, parts.code));
  parts.head = make('tr');
  parts.body = make('tbody', {onkeydown: key, onclick: event => {
    const line = event.target.closest('tr.request');
    if (line)
      open_at(Number(line.dataset.place));
  }});
  parts.more = make('button', {type: 'button', onclick: more});
  if (sqtrace.traces.length > 1) {
    parts.trace = make('select', {name: 'trace', onchange: () => { choose_trace(Number(parts.trace.value)); refresh(); sqtrace.note('push'); }},
      ...sqtrace.traces.map((data, i) => make('option', {value: i}, data.label)));
    parts.form.append(field('trace', parts.trace));
  }
  make_form();
  const scroll = make('div', {className: 'scroll', role: 'region', 'aria-label': 'List of requests'},
    make('table', {className: 'requests'}, make('thead', {}, parts.head), parts.body));
  place.replaceChildren(parts.about, make('div', {id: 'heat'}), make('div', {id: 'list'}, parts.form, parts.count, parts.command, scroll, parts.more));
  choose_trace(0);
  refresh();
}

document.addEventListener('click', event => {
  const link = event.target.closest?.('[data-filter]');
  if (!link || !state.data || event.ctrlKey || event.metaKey || event.shiftKey)
    return;
  event.preventDefault();
  filter(Object.fromEntries(new URLSearchParams(link.dataset.filter)), {show: true});
});

for (const raw of window.sqtraceData || [])
  sqtrace.take(raw);
if (sqtrace.traces.length) {
  sqtrace.band();
  begin(document.getElementById('browse'));
  sqtrace.charts();
  sqtrace.address();
}
})();
