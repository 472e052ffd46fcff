'use strict';
/* The page reads without this: it makes tables sortable, and shows a figure's meaning to a pointer and to the keyboard. */
{
  const tip = document.createElement('div');
  tip.id = 'tip';
  tip.setAttribute('role', 'tooltip');
  tip.hidden = true;
  document.body.append(tip);

  const show = (near, text) => {
    tip.textContent = text;
    tip.hidden = false;
    const at = near.getBoundingClientRect();
    const left = Math.min(at.left, window.innerWidth - tip.offsetWidth - 8);
    const below = at.bottom + 6 + tip.offsetHeight < window.innerHeight;
    tip.style.left = Math.max(8, left) + 'px';
    tip.style.top = (below ? at.bottom + 6 : at.top - tip.offsetHeight - 6) + 'px';
  };
  const hide = () => { tip.hidden = true; };

  const value = (row, column) => {
    const cell = row.cells[column];
    if (cell.dataset.v === undefined) return cell.classList.contains('empty') ? null : cell.textContent.trim();
    return cell.dataset.v === '' ? null : Number(cell.dataset.v);
  };
  const compare = (a, b) => {
    if (typeof a === 'number' && typeof b === 'number') return a - b;
    return String(a).localeCompare(String(b), 'en', { numeric: true });
  };
  const sort = (table, column, turn) => {
    for (const body of table.tBodies) {
      const rows = [];
      for (const row of body.rows) {
        if (row.classList.contains('group')) continue;
        if (row.classList.contains('ranges')) rows[rows.length - 1].lines.push(row);
        else rows.push({ key: value(row, column), lines: [row] });
      }
      rows.sort((a, b) => {
        if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
        return turn * compare(a.key, b.key);
      });
      for (const row of rows) body.append(...row.lines);
    }
  };

  for (const table of document.querySelectorAll('table.sortable')) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement('button');
      const doc = head.title;
      button.type = 'button';
      button.append(...head.childNodes);
      head.append(button);
      head.dataset.doc = doc;
      head.removeAttribute('title');
      button.setAttribute('aria-describedby', 'tip');
      button.addEventListener('click', () => {
        const descending = head.getAttribute('aria-sort') === 'ascending';
        heads.forEach((h) => h.removeAttribute('aria-sort'));
        head.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
        sort(table, column, descending ? -1 : 1);
      });
      button.addEventListener('focus', () => show(head, doc));
      button.addEventListener('blur', hide);
    });
    table.addEventListener('mouseover', (event) => {
      const cell = event.target.closest('th, td');
      const plain = cell && !cell.parentNode.matches('.group, .ranges');
      const doc = plain && heads[cell.cellIndex] && heads[cell.cellIndex].dataset.doc;
      if (doc) show(cell, doc); else hide();
    });
    table.addEventListener('mouseleave', hide);
  }
  window.addEventListener('scroll', hide, { passive: true });
  document.addEventListener('keydown', (event) => { if (event.key === 'Escape') hide(); });
}
