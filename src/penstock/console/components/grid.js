// A table whose columns are described by data. Rows are given once and then patched: a tick sends only cells that changed.
// Sorting is done here, so that a click costs the server nothing.
export default {
  template: `
    <div class="card table-card">
      <div v-if="lines.length" class="table-scroll">
      <table class="table grid" :class="look">
        <caption class="sr-only">{{ caption }}</caption>
        <thead>
          <tr>
            <th v-for="column in columns" :key="column.key" scope="col" :class="headClasses(column)" :style="width(column)"
                :aria-sort="column.key === order ? (down ? 'descending' : 'ascending') : 'none'">
              <button type="button" class="sort" @click="turn(column)">
                {{ column.label }}<span class="sort-mark" aria-hidden="true"></span>
              </button>
            </th>
            <th v-if="actions.length" scope="col" class="col-acts" :style="{ width: 20 + 34 * actions.length + 'px' }">
              <span class="sr-only">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          <tr v-for="line in sorted" :key="line.id" :class="{ line: line.href || opens }" @click="open($event, line)">
            <td v-for="(column, at) in columns" :key="column.key" :class="classes(column)" :title="hint(column, line)">
              <a v-if="at === 0 && line.href" class="cell-link" :href="prefix + line.href">
                <template v-for="part in parts(line[column.key])">{{ part }}<wbr /></template></a>
              <button v-else-if="at === 0 && opens" type="button" class="cell-link as-link" @click.stop="$emit('open', line.id)">
                {{ line[column.key] }}</button>
              <span v-else-if="column.kind === 'tag' && line[column.key]" class="tag lone" :class="tone(line[column.key])">
                {{ label(line[column.key]) }}</span>
              <svg v-else-if="column.kind === 'spark'" class="spark" viewBox="0 0 72 20" preserveAspectRatio="none" aria-hidden="true">
                <path class="spark-floor" d="M0 18.5H72" />
                <polyline v-if="(line[column.key] ?? []).some(Boolean)" :points="points(line[column.key])" />
              </svg>
              <template v-else>{{ shown(column, line) }}</template>
              <span v-if="at === 0 && line.mark" class="tag">{{ line.mark }}</span>
            </td>
            <td v-if="actions.length" class="col-acts">
              <button v-for="action in allowed(line)" :key="action.name" type="button" class="icon-btn" :class="{ danger: action.danger }"
                      :aria-label="action.label + ' ' + line.id" :title="action.label"
                      @click.stop="$emit('act', { action: action.name, id: line.id })">
                <span class="icon" :class="'icon-' + action.icon" aria-hidden="true"></span>
              </button>
            </td>
          </tr>
        </tbody>
      </table>
      </div>
      <div v-else class="empty" role="status">
        <span class="icon icon-inbox" aria-hidden="true"></span>
        <p class="empty-title">{{ nothing.title }}</p>
        <p class="empty-text">{{ nothing.text }}</p>
      </div>
    </div>`,
  props: {
    caption: String, columns: Array, rows: Array, actions: Array, empty: Object, sort: String, descending: Boolean,
    opens: Boolean, look: String,
  },
  emits: ["act", "open"],
  data() {
    return {
      lines: structuredClone(Vue.toRaw(this.rows ?? [])),
      order: this.sort,
      down: this.descending,
      nothing: this.empty,
      prefix: window.path_prefix ?? "",
    };
  },
  computed: {
    sorted() {
      if (!this.order) return this.lines;
      const sign = this.down ? -1 : 1;
      return [...this.lines].sort((a, b) => sign * compare(worth(a[this.order]), worth(b[this.order])));
    },
  },
  methods: {
    show(rows, empty) {
      this.lines = rows;
      this.nothing = empty;
    },
    patch(changes) {
      for (const line of this.lines) Object.assign(line, changes[line.id] ?? {});
    },
    turn(column) {
      const numeric = window.penstockFormat.isNumeric(column.kind);
      this.down = column.key === this.order ? !this.down : numeric;
      this.order = column.key;
    },
    open(event, line) {
      if (event.target.closest("a, button") || String(window.getSelection())) return;
      if (line.href) event.currentTarget.querySelector("a").click();
      else if (this.opens) this.$emit("open", line.id);
    },
    allowed: function (line) {
      return this.actions.filter((action) => !line.acts || line.acts.includes(action.name));
    },
    headClasses: (column) => [window.penstockFormat.isNumeric(column.kind) ? "num" : "", column.classes ?? ""],
    classes: (column) => [window.penstockFormat.isNumeric(column.kind) ? "num" : "", column.kind === "mono" ? "data" : "", column.classes ?? ""],
    width: (column) => (column.width ? { width: column.width } : {}),
    shown: (column, line) => window.penstockFormat.text(column.kind, line[column.key]),
    hint(column, line) {
      return ["text", "mono"].includes(column.kind) && String(line[column.key] ?? "").length > 24 ? line[column.key] : null;
    },
    label: (value) => (typeof value === "object" ? value.text : value),
    tone: (value) => (typeof value === "object" ? "tone-" + value.tone : ""),
    parts: (name) => String(name ?? "").split(/(?<=[._-])/),
    points(history) {
      const top = Math.max(...history, 1);
      const step = 72 / Math.max(history.length - 1, 1);
      return history.map((value, i) => `${(i * step).toFixed(1)},${(18.5 - (17 * value) / top).toFixed(1)}`).join(" ");
    },
  },
};

function worth(value) {
  if (value === null || value === undefined) return -Infinity;
  if (Array.isArray(value)) return value.length ? value[value.length - 1] : -Infinity;
  return typeof value === "object" ? value.text : value;
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "number") return -1;
  if (typeof b === "number") return 1;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}
