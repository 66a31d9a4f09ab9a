"use strict";
(function () {
  // Theme: as the system, light, dark. Storage may be refused for files; then the choice lasts until the page closes.
  var root = document.documentElement, button = document.getElementById("theme");
  var order = ["auto", "light", "dark"], words = { auto: "Auto", light: "Light", dark: "Dark" };
  function stored() { try { return localStorage.getItem("paredown-theme"); } catch (error) { return null; } }
  function keep(theme) { try { localStorage.setItem("paredown-theme", theme); } catch (error) { /* not kept */ } }
  function show(theme) {
    if (theme === "auto") { root.removeAttribute("data-theme"); } else { root.setAttribute("data-theme", theme); }
    button.querySelector("span").textContent = words[theme];
    button.setAttribute("aria-label", "Colour theme: " + (theme === "auto" ? "as the system" : theme));
    button.dataset.now = theme;
  }
  show(order.indexOf(stored()) >= 0 ? stored() : "auto");
  button.addEventListener("click", function () {
    var next = order[(order.indexOf(button.dataset.now) + 1) % order.length];
    show(next); keep(next);
  });

  // Tooltips of chart marks: hover with a mouse, tap on a phone. The same figures stand in the tables.
  var tip = document.getElementById("tip");
  function place(mark) {
    tip.textContent = mark.getAttribute("data-tip");
    tip.hidden = false;
    var at = mark.firstElementChild.getBoundingClientRect(), box = tip.getBoundingClientRect();
    var left = Math.min(Math.max(8, at.left + at.width / 2 - box.width / 2), root.clientWidth - box.width - 8);
    var top = at.top - box.height - 10;
    tip.style.left = left + "px";
    tip.style.top = (top < 8 ? at.bottom + 10 : top) + "px";
  }
  function markOf(event) { return event.target.closest ? event.target.closest("[data-tip]") : null; }
  function follow(event) { var mark = markOf(event); if (mark) { place(mark); } else { tip.hidden = true; } }
  document.addEventListener("pointerover", follow);
  document.addEventListener("click", follow);
  document.addEventListener("scroll", function () { tip.hidden = true; }, { passive: true, capture: true });
  document.addEventListener("keydown", function (event) { if (event.key === "Escape") { tip.hidden = true; } });

  // Sortable tables. Cells without a value stay at the end, whichever way the table is sorted.
  document.querySelectorAll("table.sortable").forEach(function (table) {
    var heads = Array.prototype.slice.call(table.tHead.rows[0].cells), body = table.tBodies[0];
    heads.forEach(function (head, column) {
      head.querySelector("button").addEventListener("click", function () {
        var falling = head.getAttribute("aria-sort") === "ascending";
        heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", falling ? "descending" : "ascending");
        var key = function (row) { var cell = row.cells[column]; return cell.dataset.sort || cell.textContent.trim(); };
        var empty = function (row) { return row.cells[column].dataset.sort === "" && row.cells[column].classList.contains("missing"); };
        Array.prototype.slice.call(body.rows).sort(function (a, b) {
          if (empty(a) !== empty(b)) { return empty(a) ? 1 : -1; }
          var x = key(a), y = key(b), numeric = x !== "" && y !== "" && !isNaN(x) && !isNaN(y);
          var order = numeric ? Number(x) - Number(y) : x.localeCompare(y);
          return falling ? -order : order;
        }).forEach(function (row) { body.appendChild(row); });
      });
    });
  });

  // Worst answers of one slice, of one candidate.
  var filters = Array.prototype.slice.call(document.querySelectorAll("select[data-key]"));
  function sift() {
    var shown = 0;
    document.querySelectorAll("article.pair").forEach(function (pair) {
      pair.hidden = filters.some(function (filter) {
        return filter.value !== "" && pair.dataset[filter.dataset.key] !== filter.value;
      });
      if (!pair.hidden) { shown += 1; }
    });
    document.getElementById("shown").textContent = shown + " shown";
  }
  filters.forEach(function (filter) { filter.addEventListener("change", sift); });
}());
