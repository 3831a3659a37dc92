// Passes the report to the standard page, and shows all methods side by side above it, which that page can't.
(() => {
  const report = JSON.parse(document.getElementById("report").textContent);
  const app = document.querySelector("mutation-test-report-app");
  const study = report.config;

  const add = (parent, tag, text) => {
    const element = document.createElement(tag);
    element.textContent = text;
    parent.append(element);
    return element;
  };

  const header = document.getElementById("study");
  for (const { name, killed, tried } of study.methods) {
    const percent = tried ? ` (${((100 * killed) / tried).toFixed(1)} %)` : "";
    add(header, "span", `${name} kills ${killed} of ${tried}${percent}`);
  }
  const escapes = add(header, "span", `escapes: ${study.escapes ?? "not known"}`);
  escapes.className = study.escapes === 0 ? "good" : "bad";
  const left = "its score leaves out what ended the process, is no Python, or is argued equivalent";
  add(header, "span", `below: the status by ${study.statusOf}; ${left}`);

  const theme = () => {
    document.body.style.backgroundColor = app.themeBackgroundColor;
    document.documentElement.dataset.theme = app.theme;
  };
  app.addEventListener("theme-changed", theme);
  app.report = report;
  app.updateComplete.then(theme);
})();
