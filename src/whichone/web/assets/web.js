// Everything works without this file; it searches while one types and takes marked text into a form.
"use strict";

for (const form of document.querySelectorAll("form[data-live]")) {
  const target = document.getElementById(form.dataset.live);
  let waiting = null;
  let asked = 0;
  const ask = async () => {
    const values = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (value) values.append(name, value);
    const place = form.getAttribute("action") + (values.size ? "?" + values : "");
    history.replaceState(null, "", place);
    const mine = ++asked;
    values.append("fragment", "true");
    target.classList.add("waiting");
    const answer = await fetch(form.getAttribute("action") + "?" + values);
    if (mine === asked && answer.ok) {
      target.innerHTML = await answer.text(); // rendered and escaped by the server
      target.classList.remove("waiting");
    }
  };
  form.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(ask, 120); });
  form.addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(waiting); ask(); });
}

// Text selected inside [data-marks="ID"] goes into the input of that id.
document.addEventListener("selectionchange", () => {
  const selection = document.getSelection();
  if (!selection || selection.isCollapsed || !selection.anchorNode) return;
  const around = (node) => (node.nodeType === 1 ? node : node.parentElement).closest("[data-marks]");
  const start = around(selection.anchorNode);
  const end = around(selection.focusNode);
  const text = selection.toString().trim();
  if (!start || start !== end || !text) return;
  const field = document.getElementById(start.dataset.marks);
  if (field) field.value = text;
});

// Pages with work in progress load again by themselves, unless someone is filling in a form there.
const later = document.querySelector("[data-reload]");
let filling = false;
document.addEventListener("input", () => { filling = true; });
if (later) setTimeout(() => { if (!filling) location.reload(); }, 1000 * Number(later.dataset.reload));
