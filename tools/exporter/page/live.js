// SPDX-License-Identifier: GPL-2.0-or-later
//
// live.js - fetches live.json every two seconds, and shows it.  All text goes through textContent.
'use strict';

const EVERY = 2000, TIMEOUT = 10000;
const el = id => document.getElementById(id);
let paused = false, last = null, timer = 0;

// ---- values ----

// null: the row has no value; undefined: there is no row, as the trace cannot be read.
const unknown = value => value === null || value === undefined;

function duration(ns) {
    if (unknown(ns))
        return '-';
    const units = [[3.6e12, 'h'], [6e10, 'min'], [1e9, 's'], [1e6, 'ms'], [1e3, 'us']];
    const [size, name] = units.find(([size]) => ns >= size) || [1, 'ns'];
    const value = ns / size;
    return value.toFixed(value < 10 && size > 1 ? 2 : value < 100 && size > 1 ? 1 : 0) + ' ' + name;
}

const text = value => unknown(value) || value === '' ? '-' : String(value);
const count = value => unknown(value) ? '-' : Number(value).toLocaleString('en');
const milli = value => unknown(value) ? '-' : (value / 1000).toFixed(1);
const percent = value => unknown(value) ? '-' : (value / 1000).toFixed(1) + ' %';

function node(name, content, look) {
    const made = document.createElement(name);
    if (content !== undefined)
        made.textContent = content;
    if (look)
        made.className = look;
    return made;
}

// ---- tables ----

const TIMES = 'number', NAME = 'name';
const waits = row => row.on ? row.on + (row.whom ? ' ' + row.whom : '') : '-';
const TABLES = {
    requests: [
        ['Age', TIMES, row => duration(row.age_ns)], ['Stage', '', row => text(row.stage)],
        ['For', TIMES, row => duration(row.stage_ns)], ['Waits for', NAME, waits], ['Method', '', row => text(row.method)],
        ['Transaction', TIMES, row => text(row.xid)], ['Kid', TIMES, row => text(row.kid)],
        ['', '', row => row.sure ? '' : 'records are missing: it may be over'],
    ],
    waits: [
        ['On', NAME, waits], ['Waiting', TIMES, row => count(row.waiting)], ['Longest', TIMES, row => duration(row.oldest_ns)],
        ['Ended a second', TIMES, row => milli(row.now_per_s)], ['Mean', TIMES, row => duration(row.now_mean_ns)],
        ['Failed', TIMES, row => count(row.now_failed)], ['Mean before', TIMES, row => duration(row.before_mean_ns)],
    ],
    classes: [
        ['Class', '', row => text(row.class)], ['A second', TIMES, row => milli(row.now_per_s)],
        ['Median', TIMES, row => duration(row.now_p50_ns)], ['p99', TIMES, row => duration(row.now_p99_ns)],
        ['A second, before', TIMES, row => milli(row.before_per_s)],
        ['Median, before', TIMES, row => duration(row.before_p50_ns)], ['p99, before', TIMES, row => duration(row.before_p99_ns)],
    ],
    stages: [
        ['Stage', '', row => row.stage || 'none'], ['Share', TIMES, row => percent(row.now_share_pct)],
        ['', 'bar', row => row.now_share_pct], ['Requests in it', TIMES, row => milli(row.now_requests)],
        ['Before', TIMES, row => milli(row.before_requests)], ['Share, before', TIMES, row => percent(row.before_share_pct)],
    ],
    loops: [
        ['Kid', TIMES, row => text(row.kid)], ['State', '', row => text(row.state)], ['For', TIMES, row => duration(row.since_ns)],
        ['Busy', TIMES, row => percent(row.now_busy_pct)], ['Busy before', TIMES, row => percent(row.before_busy_pct)],
        ['Longest pass', TIMES, row => duration(row.longest_ns)], ['Activity', '', row => text(row.activity)],
        ['Last event', '', row => text(row.last_event)], ['Process', TIMES, row => text(row.pid)],
    ],
};

function cell(value, look) {
    if (look !== 'bar')
        return node('td', value, look);
    const made = node('td', undefined, look), bar = node('span');
    bar.style.width = Math.max(0, Math.min(100, (value || 0) / 1000)) + '%';
    made.append(bar);
    return made;
}

function head(columns) {
    const row = node('tr');
    for (const [name, look] of columns) {
        const made = node(name ? 'th' : 'td', name, look);
        if (name)
            made.scope = 'col';
        row.append(made);
    }
    const made = node('thead');
    made.append(row);
    return made;
}

function show_table(id, rows) {
    const columns = TABLES[id], table = el(id), body = node('tbody');
    for (const row of rows) {
        const line = node('tr', undefined, id === 'loops' && /blocked|silent/.test(row.state) ? 'alarm' : '');
        line.append(...columns.map(([, look, value]) => cell(value(row), look)));
        body.append(line);
    }
    if (!table.tHead)
        table.append(head(columns));
    table.tBodies.length ? table.replaceChild(body, table.tBodies[0]) : table.append(body);
}

// ---- the rest ----

function tile(name, value, small) {
    const made = node('div'), shown = node('dd', value);
    if (small)
        shown.append(node('small', small));
    made.append(node('dt', name), shown);
    return made;
}

function show_totals(data) {
    const totals = data.totals[0] || {}, all = data.classes.find(row => row.class === 'all') || {};
    const oldest = data.requests.length ? data.requests[0].age_ns : null;
    el('totals').replaceChildren(
        tile('Requests a second', milli(totals.now_per_s), milli(totals.before_per_s) + ' before'),
        tile('In flight', count(totals.in_flight), oldest === null ? '' : 'the oldest for ' + duration(oldest)),
        tile('Median', duration(all.now_p50_ns), duration(all.before_p50_ns) + ' before'),
        tile('p99', duration(all.now_p99_ns), duration(all.before_p99_ns) + ' before'),
        tile('Hit ratio', percent(totals.now_hit_ratio_pct), percent(totals.before_hit_ratio_pct) + ' before'),
        tile('Records lost', count(totals.lost), totals.lost ? 'numbers are incomplete' : ''));
}

function show_findings(rows) {
    el('no-findings').hidden = rows.length > 0;
    el('findings').replaceChildren(...rows.map(row => {
        const item = node('li'), sentence = node('span', row.sentence, /hanging|standstill/.test(row.cause + ' ' + row.harm) ? 'alarm' : '');
        item.append(sentence);
        if (row.advice)
            item.append(node('span', row.advice, 'advice'));
        return item;
    }));
}

function show_requests(data) {
    const wanted = el('filter').value.trim().toLowerCase();
    const fits = row => !wanted || [row.stage, row.on, row.whom, row.method, row.xid, 'kid ' + row.kid].join(' ').toLowerCase().includes(wanted);
    const rows = data.requests.filter(fits), all = (data.totals[0] || {in_flight: 0}).in_flight;
    show_table('requests', rows);
    el('requests-note').textContent = !all ? 'No request is in flight.'
        : count(rows.length) + ' of ' + count(all) + ' are shown' + (data.requests.length < all ? ': the oldest ones.' : '.');
}

function figure(caption, label, shapes) {
    const made = node('figure'), svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    svg.setAttribute('viewBox', '0 0 300 100');
    svg.setAttribute('preserveAspectRatio', 'none');
    svg.setAttribute('role', 'img');
    svg.setAttribute('aria-label', label);
    for (const [name, attributes] of shapes) {
        const shape = document.createElementNS('http://www.w3.org/2000/svg', name);
        for (const key in attributes)
            shape.setAttribute(key, attributes[key]);
        svg.append(shape);
    }
    made.append(svg, node('figcaption', caption));
    return made;
}

// Lines end where nothing is known, and go on behind it.
function lines(values, most, look) {
    const runs = [[]];
    values.forEach((value, i) => {
        if (value === null)
            runs.push([]);
        else
            runs[runs.length - 1].push(((i + .5) * 300 / values.length).toFixed(1) + ',' + (100 - 96 * value / most).toFixed(1));
    });
    return runs.filter(run => run.length).map(run => ['polyline', {class: look, points: (run.length > 1 ? run : [run[0], run[0]]).join(' ')}]);
}

function show_history(history) {
    const rates = history.counts.map(value => value / history.width_s), most = Math.max(...rates, 0);
    const slowest = Math.max(...history.p99_ns.filter(value => value !== null), 0), step = 300 / rates.length;
    const bars = rates.map((value, i) => ['rect', {x: (i * step).toFixed(1), width: (step * .85).toFixed(1),
        y: (most ? 100 - 96 * value / most : 100).toFixed(1), height: (most ? 96 * value / most : 0).toFixed(1)}]);
    const rate = 'Requests that ended, a second; the highest bar is ' + most.toFixed(1);
    const times = 'p99 (solid) and median (dashed), without tunnels; the highest p99 is ' + (slowest ? duration(slowest) : '-');
    el('history').replaceChildren(figure(rate, rate, bars),
        figure(times, times, slowest ? [...lines(history.p50_ns, slowest, 'second'), ...lines(history.p99_ns, slowest, '')] : []));
}

function show_state(data) {
    const at = new Date(data.now_ms).toLocaleTimeString();
    const words = data.error ? 'The trace cannot be read: ' + data.error
        : !data.squid_up ? 'Squid is down: for 10 s or longer no process has shown a sign of life.'
        : data.silent ? data.silent + (data.silent === 1 ? ' process has' : ' processes have') + ' shown no sign of life for 10 s or longer.'
        : 'Squid ' + (data.squid_version ? data.squid_version + ' ' : '') + 'is up.';
    el('at').textContent = 'As of ' + at;
    set_state(words, data.error || !data.squid_up || data.silent);
    el('metrics').href = data.metrics.slice(1) || data.metrics;
}

function set_state(words, alarm) {
    const state = el('state');
    if (state.textContent !== words)
        state.textContent = words;
    state.className = alarm ? 'alarm' : '';
}

function show(data) {
    last = data;
    show_state(data);
    show_totals(data);
    show_findings(data.findings);
    show_requests(data);
    for (const id of ['waits', 'classes', 'stages', 'loops'])
        show_table(id, data[id]);
    show_history(data.history);
}

// ---- fetching ----

// Rows come as lists; the names of their columns come once.
function named(data) {
    for (const [name, table] of Object.entries(data.tables))
        data[name] = table.rows.map(row => Object.fromEntries(table.columns.map((column, i) => [column, row[i]])));
    return data;
}

async function look() {
    const abort = new AbortController(), limit = setTimeout(() => abort.abort(), TIMEOUT);
    try {
        const answer = await fetch('live.json', {signal: abort.signal, cache: 'no-store'});
        const data = named(await answer.json());
        if (!paused)
            show(data);
    } catch (error) {
        set_state('The exporter does not answer' + (last ? ' since ' + new Date(last.now_ms).toLocaleTimeString() : '') + '.', true);
    }
    clearTimeout(limit);
    again();
}

function again() {
    clearTimeout(timer);
    if (!paused && !document.hidden)
        timer = setTimeout(look, EVERY);
}

function pause(on) {
    paused = on;
    el('pause').textContent = on ? 'Go on' : 'Pause';
    el('pause').setAttribute('aria-pressed', String(on));
    clearTimeout(timer);
    if (!on)
        look();
}

el('pause').addEventListener('click', () => pause(!paused));
el('filter').addEventListener('input', () => last && show_requests(last));
document.addEventListener('visibilitychange', () => !document.hidden && !paused && look());
look();
