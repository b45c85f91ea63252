// The messages table. Append-only and written straight to the DOM: a live tail adds a few rows and drops a few, and nothing
// else is touched. What a message says is only ever set as text.
const COLUMNS = 6;
const HIGHLIGHT_MAX = 100000;
const TOKEN = /("(?:\\.|[^"\\])*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

function element(tag, classes, text) {
  const made = document.createElement(tag);
  if (classes) made.className = classes;
  if (text !== undefined) made.textContent = text;
  return made;
}

function icon(name) {
  const made = element("span", "icon icon-" + name);
  made.setAttribute("aria-hidden", "true");
  return made;
}

function size(bytes) {
  if (bytes < 1024) return bytes + " B";
  return bytes < 1048576 ? (bytes / 1024).toFixed(1) + " KB" : (bytes / 1048576).toFixed(1) + " MB";
}

// A cell with one line of a key or value.
function preview(shown) {
  if (shown.encoding === "null") return element("span", "faint", "null");
  if (shown.encoding === "empty") return element("span", "faint", "empty");
  const line = element("span", shown.encoding === "hex" ? "data hex" : "data", shown.text + (shown.truncated ? "…" : ""));
  if (!shown.note) return line;
  const both = element("span");
  both.append(element("span", "data", shown.note.split(" ")[1]), " ", element("span", "tag", shown.note.split(" ")[0]));
  return both;
}

function moment(timestamp) {
  const cell = element("td", "col-time");
  if (!timestamp) {
    cell.append(element("span", "faint", "no timestamp"));
    return cell;
  }
  const [date, time] = timestamp.replace("Z", "").split("T");
  cell.append(element("span", "date", date), " ", element("span", "time", time ?? ""));
  return cell;
}

// JSON with its names, strings and numbers told apart, as text nodes in spans.
function highlighted(text) {
  const block = document.createDocumentFragment();
  let at = 0;
  for (const match of text.matchAll(TOKEN)) {
    block.append(text.slice(at, match.index));
    const [whole, string, colon] = match;
    if (string && colon) block.append(element("span", "json-name", string), colon);
    else block.append(element("span", string ? "json-string" : "json-literal", whole));
    at = match.index + whole.length;
  }
  block.append(text.slice(at));
  return block;
}

function full(shown) {
  if (shown.encoding === "null") return element("p", "faint", "null");
  if (shown.encoding === "empty") return element("p", "faint", "empty (zero bytes)");
  const block = element("pre", "code");
  block.tabIndex = 0;
  if (shown.encoding === "json" && shown.text.length < HIGHLIGHT_MAX) block.append(highlighted(shown.text));
  else block.textContent = shown.text;
  return block;
}

function copyButton(shown) {
  const button = element("button", "btn-small");
  button.type = "button";
  const label = element("span", "", "Copy");
  button.append(icon("copy"), label);
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(shown.text);
    label.textContent = "Copied";
    setTimeout(() => (label.textContent = "Copy"), 1500);
  });
  return button;
}

function part(title, shown) {
  const section = element("section", "part");
  const head = element("div", "part-head");
  const what = shown.size_bytes ? [shown.encoding, size(shown.size_bytes)] : [];
  if (shown.note) what.push(shown.note);
  head.append(element("h3", "", title), element("span", "faint", what.join(" · ")));
  if (shown.size_bytes && navigator.clipboard) head.append(copyButton(shown));
  section.append(head, full(shown));
  if (shown.truncated) section.append(element("p", "faint", "Cut: the whole has " + size(shown.size_bytes) + "."));
  return section;
}

// What can be done with the record: follow it, write it again, send its address to somebody.
function actsPart(topic, row, again) {
  const bar = element("div", "record-acts");
  const place = `partition=${row.partition}&offset=${row.offset}`;
  const follow = element("a", "btn-small", "Follow this record");
  follow.href = `${window.path_prefix ?? ""}/follow/${encodeURIComponent(topic)}?${place}`;
  const link = element("a", "btn-small", "Link to it");
  link.href = `${window.path_prefix ?? ""}/topics/${encodeURIComponent(topic)}?from=offset&${place}`;
  const write = element("button", "btn-small", "Produce again…");
  write.type = "button";
  write.addEventListener("click", again);
  bar.append(follow, write, link);
  return bar;
}

function headersPart(headers) {
  const section = element("section", "part");
  const head = element("div", "part-head");
  head.append(element("h3", "", "Headers"), element("span", "faint", headers.length ? String(headers.length) : "none"));
  section.append(head);
  if (!headers.length) return section;
  const list = element("dl", "headers");
  for (const header of headers) {
    const value = header.value;
    const text = ["null", "empty"].includes(value.encoding) ? value.encoding : value.text;
    list.append(element("dt", "", header.name), element("dd", text === value.text ? "data" : "faint", text));
  }
  section.append(list);
  return section;
}

export default {
  template: `
    <div class="card table-card">
      <table class="table messages" role="table" v-show="count" :aria-busy="busy ? 'true' : 'false'">
        <caption class="sr-only">Messages</caption>
        <thead>
          <tr>
            <th scope="col" class="col-open"><span class="sr-only">Details</span></th>
            <th scope="col" class="col-time">Timestamp (UTC)</th>
            <th scope="col" class="col-partition num">Partition</th>
            <th scope="col" class="col-offset num">Offset</th>
            <th scope="col" class="col-key">Key</th>
            <th scope="col" class="col-value">Value</th>
          </tr>
        </thead>
        <tbody ref="body"></tbody>
      </table>
      <div v-if="!count" class="empty" role="status">
        <span class="icon" :class="busy ? 'icon-spinner spin' : 'icon-inbox'" aria-hidden="true"></span>
        <p class="empty-title">{{ busy ? 'Reading messages' : nothing.title }}</p>
        <p class="empty-text" v-if="!busy">{{ nothing.text }}</p>
      </div>
    </div>`,
  props: { topic: String, empty: Object },
  emits: ["opened", "again"],
  data() {
    return { count: 0, busy: true, nothing: this.empty };
  },
  methods: {
    show(rows, empty) {
      this.nothing = empty;
      this.busy = false;
      this.$refs.body.replaceChildren(...rows.map((row) => this.line(row)));
      this.count = rows.length;
    },
    append(rows) {
      this.$refs.body.append(...rows.map((row) => this.line(row)));
      this.recount();
    },
    // Oldest first in `rows`; the newest ends on top.
    prepend(rows, most) {
      const lines = rows.map((row) => this.line(row)).reverse();
      for (const line of this.$refs.body.querySelectorAll(".fresh")) line.classList.remove("fresh");
      for (const line of lines) line.classList.add("fresh");
      this.$refs.body.prepend(...lines);
      this.trim(most);
      this.recount();
    },
    load() {
      this.busy = true;
    },
    trim(most) {
      const lines = this.$refs.body.getElementsByClassName("line");
      while (lines.length > most) {
        const last = lines[lines.length - 1];
        while (last.nextSibling) last.nextSibling.remove(); // its details, when they are open
        last.remove();
      }
    },
    recount() {
      this.count = this.$refs.body.getElementsByClassName("line").length;
    },
    line(row) {
      const line = element("tr", "line");
      line.setAttribute("role", "row"); // the narrow layout is a grid, which would take the roles away
      const open = element("td", "col-open");
      const button = element("button", "icon-btn");
      button.type = "button";
      button.setAttribute("aria-expanded", "false");
      button.setAttribute("aria-label", `Details of partition ${row.partition}, offset ${row.offset}`);
      const mark = element("span", "open-mark");
      mark.setAttribute("aria-hidden", "true");
      button.append(mark);
      open.append(button);
      const key = element("td", "col-key");
      key.append(preview(row.key));
      const value = element("td", "col-value");
      value.append(preview(row.value));
      line.append(open, moment(row.timestamp), element("td", "col-partition num", row.partition));
      line.append(element("td", "col-offset num", row.offset.toLocaleString("en-US")), key, value);
      for (const cell of line.children) cell.setAttribute("role", "cell");
      line.addEventListener("click", (event) => {
        if (event.target.closest("a") || String(window.getSelection())) return;
        this.toggle(line, button, row);
      });
      return line;
    },
    toggle(line, button, row) {
      const open = button.getAttribute("aria-expanded") === "true";
      button.setAttribute("aria-expanded", String(!open));
      line.classList.toggle("open", !open);
      if (open) {
        line.nextSibling.remove();
        return;
      }
      const detail = element("tr", "detail");
      const cell = element("td");
      cell.colSpan = COLUMNS;
      detail.append(cell);
      line.after(detail);
      this.$emit("opened", { partition: row.partition, offset: row.offset });
      this.fill(cell, row);
    },
    async fill(cell, row) {
      cell.append(element("p", "faint", "Reading…"));
      const query = new URLSearchParams({
        partition: row.partition, from: "offset", offset: row.offset, limit: 1, max_bytes: 1048576,
      });
      try {
        const path = `${window.path_prefix ?? ""}/api/topics/${encodeURIComponent(this.topic)}/messages?${query}`;
        const response = await fetch(path);
        const answer = await response.json();
        if (!response.ok) throw new Error(answer.message);
        const message = answer.messages[0];
        if (!message || message.offset !== row.offset) {
          throw new Error("This message is no longer there: retention or compaction removed it.");
        }
        const place = { partition: row.partition, offset: row.offset };
        const acts = actsPart(this.topic, row, () => this.$emit("again", place));
        cell.replaceChildren(acts, part("Value", message.value), part("Key", message.key), headersPart(message.headers));
      } catch (error) {
        cell.replaceChildren(element("p", "error", error.message));
      }
    },
  },
};
