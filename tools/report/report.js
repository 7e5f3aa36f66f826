/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * report.js - opens figures large.  Without it the links lead to the pictures.
 *
 * A dialog shows the picture of its figure, so that a page of one file has each picture once.  A dialog closes with
 * Escape by itself.  The arrow keys go to the figure before and after.
 */
'use strict';

const openers = [...document.querySelectorAll('a[data-dialog]')];

function show(opener) {
  const dialog = document.getElementById(opener.dataset.dialog);
  dialog.opener = opener;
  dialog.querySelector('.large').replaceChildren(opener.querySelector('picture').cloneNode(true));
  dialog.showModal();
  dialog.scrollTop = 0;
}

for (const opener of openers)
  opener.addEventListener('click', event => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button)
      return; /* a new tab is what was asked for */
    event.preventDefault();
    show(opener);
  });

function next(dialog, step) {
  const opener = openers[openers.indexOf(dialog.opener) + step];
  if (opener) {
    dialog.close();
    show(opener);
  }
}

for (const dialog of document.querySelectorAll('dialog')) {
  dialog.addEventListener('close', () => dialog.opener.focus());
  dialog.addEventListener('click', event => {
    if (event.target === dialog)
      dialog.close(); /* beside it */
  });
  dialog.addEventListener('keydown', event => {
    if (event.altKey || event.ctrlKey || event.metaKey)
      return;
    if (event.key === 'ArrowRight')
      next(dialog, 1);
    else if (event.key === 'ArrowLeft')
      next(dialog, -1);
  });
  for (const button of dialog.querySelectorAll('button[data-step]'))
    button.addEventListener('click', () => next(dialog, Number(button.dataset.step)));
}
