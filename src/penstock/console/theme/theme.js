// Light or dark, before anything is painted. The choice (system, light, dark) stays in this browser.
document.documentElement.lang = "en";
window.penstockTheme = (() => {
  const KEY = "penstock.theme";
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const choice = () => {
    const stored = localStorage.getItem(KEY);
    return ["light", "dark"].includes(stored) ? stored : "system";
  };
  const apply = () => {
    const dark = choice() === "dark" || (choice() === "system" && system.matches);
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    window.Quasar?.Dark?.set(dark);
  };
  const choose = (value) => {
    localStorage.setItem(KEY, value);
    apply();
  };
  system.addEventListener("change", apply);
  apply();
  return { choice, choose, apply };
})();
