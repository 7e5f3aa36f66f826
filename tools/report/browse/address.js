/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * address.js - the page's address: filters, order, request and stretch of time.
 *
 * So Back and Forward go through what the reader looked at, and a reload or a copied address shows the same again.  The
 * address ends in "#requests?class=miss&sort=size_bytes".  An entry of the history that has another end, such as
 * "#findings", remembers the list in its state.
 */
'use strict';

(() => {
const MARK = '#requests?';
const WAIT = 250; /* ms: while the stretch of time is dragged, the address waits */
let ready = false, timer = 0;

const of_hash = () => location.hash.startsWith(MARK) ? location.hash.slice(MARK.length) : '';
const of_entry = () => history.state?.list ?? of_hash();

/* What the page shows, as text. */
function shown() {
  const {from, to} = sqtrace.view, zoom = sqtrace.zoomed() ? {zoom: `${from / 1e9},${to / 1e9}`} : {};
  return new URLSearchParams({...sqtrace.listed(), ...sqtrace.opened(), ...zoom}).toString();
}

/* The address becomes that of what the page shows.  how: 'push' adds an entry to the history, 'replace' does not. */
sqtrace.note = how => {
  const list = ready ? shown() : '';
  if (!ready || list == of_entry())
    return;
  history[how + 'State']({list}, '', list ? MARK + list : location.pathname + location.search);
};

/* Shows what an entry of the history says. */
function show(list) {
  const {request, zoom, ...filter} = Object.fromEntries(new URLSearchParams(list));
  const [from, to] = (zoom || '').split(',').map(Number);
  ready = false;
  sqtrace.filter({trace: sqtrace.traces[0].label, ...filter});
  if (to > from)
    sqtrace.zoom(from * 1e9, to * 1e9);
  else if (sqtrace.zoomed())
    sqtrace.zoom();
  sqtrace.find(request);
  ready = true;
}

function leave() {
  clearTimeout(timer);
  const {list} = history.state || {};
  if (list == undefined && !location.hash.startsWith(MARK))
    history.replaceState({list: shown()}, ''); /* a link within the page: the list stays as it is */
  else
    show(of_entry());
}

/* Called once the list is there. */
sqtrace.address = () => {
  const list = of_entry();
  if (list) {
    show(list);
    if (history.state?.list == undefined)
      document.getElementById('list').scrollIntoView();
  }
  ready = true;
  history.replaceState({list: shown()}, '');
  addEventListener('popstate', leave);
  sqtrace.watch(() => {
    clearTimeout(timer);
    timer = setTimeout(() => sqtrace.note('replace'), WAIT);
  });
};
})();
