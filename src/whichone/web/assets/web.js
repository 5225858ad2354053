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
      recount(form, target);
    }
  };
  form.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(ask, 120); });
  form.addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(waiting); ask(); });
}

// Pages with work in progress load again by themselves, unless someone is filling in a form there.
const later = document.querySelector("[data-reload]");
let filling = false;
document.addEventListener("input", () => { filling = true; });
if (later) setTimeout(() => { if (!filling) location.reload(); }, 1000 * Number(later.dataset.reload));

// Counts of facets follow what is found.
const recount = (form, target) => {
  const listed = target.querySelector("[data-counts]");
  if (!listed) return;
  const counts = JSON.parse(listed.dataset.counts);
  for (const choice of form.querySelectorAll("select")) {
    if (!counts[choice.name] || choice.value) continue;
    for (const option of choice.options) if (option.dataset.value) option.textContent = `${option.dataset.label} (${(counts[choice.name][option.dataset.value] || 0).toLocaleString("en")})`;
  }
};

// A file that is too large is refused before it is sent, so that what was typed stays.
for (const field of document.querySelectorAll("input[data-most]")) field.addEventListener("change", () => {
  const size = [...field.files].reduce((sum, file) => sum + file.size, 0);
  field.setCustomValidity(size > Number(field.dataset.most) ? `${Math.ceil(size / 1048576)} MiB are more than the ${Math.floor(field.dataset.most / 1048576)} MiB that are taken` : "");
  field.reportValidity();
});

// Buttons that copy.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  button.textContent = "Copied";
});

// Tasks by keyboard: 1 to 9 choose, Enter keeps, b goes back, s skips, unless someone is typing.
document.addEventListener("keydown", (event) => {
  const task = document.querySelector("[data-task]");
  if (!task || event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.matches("textarea, input:not([type=radio]):not([type=checkbox])");
  if (typing) return;
  const number = Number(event.key);
  const choices = [...task.querySelectorAll("[data-key]")];
  if (number >= 1 && number <= choices.length) { choices[number - 1].click(); choices[number - 1].focus(); event.preventDefault(); }
  const named = { b: "[data-back]", s: "[data-skip]" }[event.key];
  const button = named && document.querySelector(named);
  if (button) { button.click(); event.preventDefault(); }
  if (event.key === "Enter" && event.target.matches("input[type=radio], body")) { task.requestSubmit(task.querySelector("[data-keep]")); event.preventDefault(); }
});

// Marked text snaps to words, stays marked, and can be undone.
const snapped = (range) => {
  const word = /[\p{L}\p{N}]/u;
  const { startContainer: start, endContainer: end } = range;
  let [from, to] = [range.startOffset, range.endOffset];
  if (start.nodeType === 3) while (from > 0 && word.test(start.data[from - 1])) from -= 1;
  if (end.nodeType === 3 && to > 0 && word.test(end.data[to - 1])) while (to < end.data.length && word.test(end.data[to])) to += 1;
  range.setStart(start, from);
  range.setEnd(end, to);
  return range;
};
document.addEventListener("pointerup", () => setTimeout(() => {
  const selection = document.getSelection();
  if (!selection || selection.isCollapsed || !selection.anchorNode) return;
  const range = snapped(selection.getRangeAt(0).cloneRange());
  const inside = (node) => (node.nodeType === 1 ? node : node.parentElement).closest("[data-marks]");
  const area = inside(range.startContainer);
  if (!area || area !== inside(range.endContainer)) return;
  const field = document.getElementById(area.dataset.marks);
  const text = range.toString().replace(/\s+/g, " ").trim();
  if (!field || !text) return;
  field.value = text;
  for (const old of area.querySelectorAll("mark.marked")) old.replaceWith(...old.childNodes);
  area.normalize();
  if (range.startContainer === range.endContainer && range.startContainer.nodeType === 3) {
    const mark = document.createElement("mark");
    mark.className = "marked";
    range.surroundContents(mark);
    selection.removeAllRanges();
  }
}, 0));
for (const undo of document.querySelectorAll("[data-undo]")) undo.addEventListener("click", () => {
  const field = document.getElementById(undo.dataset.undo);
  field.value = "";
  for (const mark of document.querySelectorAll(`[data-marks="${undo.dataset.undo}"] mark.marked`)) mark.replaceWith(...mark.childNodes);
});
