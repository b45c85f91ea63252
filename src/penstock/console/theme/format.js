// A code editor builds itself after the page: its text gets the name of the element around it, for screen readers.
new MutationObserver(() => {
  for (const text of document.querySelectorAll(".code-editor .cm-content:not([aria-label])")) {
    text.setAttribute("aria-label", text.closest(".code-editor").getAttribute("aria-label"));
    text.closest(".cm-scroller").tabIndex = 0;
  }
}).observe(document, { childList: true, subtree: true });

// Numbers as people read them, for every component: one place, so that a size looks the same everywhere.
window.penstockFormat = (() => {
  const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
  const UNITS = ["B", "KB", "MB", "GB", "TB", "PB"];
  const NUMERIC = ["number", "bytes", "rate", "bytes_rate", "ms", "seconds", "percent", "spark"];
  const UNKNOWN = "–";

  const small = (value) => (value !== 0 && Math.abs(value) < 10 ? value.toFixed(1) : whole.format(value));
  function bytes(value) {
    let unit = 0;
    while (Math.abs(value) >= 1024 && unit < UNITS.length - 1) {
      value /= 1024;
      unit += 1;
    }
    return (unit ? small(value) : whole.format(value)) + " " + UNITS[unit];
  }
  function seconds(value) {
    if (value < 1) return whole.format(value * 1000) + " ms";
    if (value < 120) return small(value) + " s";
    if (value < 7200) return whole.format(value / 60) + " min";
    return value < 172800 ? small(value / 3600) + " h" : whole.format(value / 86400) + " days";
  }
  function ms(value) {
    return value < 1000 ? small(value) + " ms" : seconds(value / 1000);
  }
  const KINDS = {
    number: (value) => whole.format(value),
    rate: small,
    bytes,
    bytes_rate: (value) => bytes(value) + "/s",
    seconds,
    ms,
    percent: (value) => whole.format(value) + " %",
  };
  function text(kind, value) {
    if (value === null || value === undefined || value === "") return UNKNOWN;
    return KINDS[kind] && typeof value === "number" ? KINDS[kind](value) : String(value);
  }
  return { text, isNumeric: (kind) => NUMERIC.includes(kind) };
})();
