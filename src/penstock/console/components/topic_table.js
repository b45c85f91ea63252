// The topics table. Rows are given once and then patched: a tick sends only the numbers that changed.
const COLUMNS = [
  { key: "name", label: "Name", classes: "col-name" },
  { key: "partitions", label: "Partitions", classes: "col-partitions num" },
  { key: "records", label: "Records", classes: "col-records num" },
  { key: "rate", label: "Records/s", classes: "col-rate num" },
  { key: "size", label: "Size", classes: "col-size num" },
];
const HISTORY = 40;
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const UNITS = ["B", "KB", "MB", "GB", "TB", "PB"];

export default {
  template: `
    <div class="card table-card">
      <table v-if="lines.length" class="table topics">
        <caption class="sr-only">Topics</caption>
        <thead>
          <tr>
            <th v-for="column in columns" :key="column.key" scope="col" :class="column.classes"
                :aria-sort="column.key === order ? (down ? 'descending' : 'ascending') : 'none'">
              <button type="button" class="sort" @click="$emit('sort', column.key)">
                {{ column.label }}<span class="sort-mark" aria-hidden="true"></span>
              </button>
            </th>
            <th scope="col" class="col-actions"><span class="sr-only">Actions</span></th>
          </tr>
        </thead>
        <tbody>
          <tr v-for="line in lines" :key="line.name" class="line" @click="open($event)">
            <td class="col-name">
              <a class="topic-link" :href="'/topics/' + encodeURIComponent(line.name)"
                ><template v-for="part in parts(line.name)">{{ part }}<wbr /></template></a>
              <span v-if="line.internal" class="tag">internal</span>
            </td>
            <td class="col-partitions num">{{ count(line.partitions) }}</td>
            <td class="col-records num">{{ count(line.records) }}</td>
            <td class="col-rate num">
              <span class="rate-cell">
                <svg class="spark" viewBox="0 0 72 20" preserveAspectRatio="none" aria-hidden="true">
                  <path class="spark-floor" d="M0 18.5H72" />
                  <polygon v-if="line.history.some(Boolean)" class="spark-area" :points="area(line.history)" />
                  <polyline v-if="line.history.some(Boolean)" :points="points(line.history).join(' ')" />
                </svg>
                <span class="rate" :class="{ idle: !line.rate }">{{ rate(line.rate) }}</span>
              </span>
            </td>
            <td v-if="withSizes" class="col-size num">{{ bytes(line.size) }}</td>
            <td class="col-actions">
              <button type="button" class="icon-btn danger" :aria-label="'Delete topic ' + line.name" title="Delete topic"
                      @click.stop="$emit('remove', line.name)">
                <span class="icon icon-trash" aria-hidden="true"></span>
              </button>
            </td>
          </tr>
        </tbody>
      </table>
      <div v-else class="empty" role="status">
        <span class="icon icon-inbox" aria-hidden="true"></span>
        <p class="empty-title">{{ nothing.title }}</p>
        <p class="empty-text">{{ nothing.text }}</p>
      </div>
    </div>`,
  props: { rows: Array, sort: String, descending: Boolean, empty: Object, sizes: Boolean },
  emits: ["sort", "remove"],
  data() {
    return {
      lines: structuredClone(Vue.toRaw(this.rows ?? [])),
      order: this.sort,
      down: this.descending,
      nothing: this.empty,
      withSizes: this.sizes,
    };
  },
  computed: {
    columns() {
      return COLUMNS.filter((column) => column.key !== "size" || this.withSizes);
    },
  },
  methods: {
    show(rows, sort, descending, empty, sizes) {
      this.lines = rows;
      this.order = sort;
      this.down = descending;
      this.nothing = empty;
      this.withSizes = sizes;
    },
    patch(changes) {
      for (const line of this.lines) {
        Object.assign(line, changes[line.name] ?? {});
        line.history.push(line.rate ?? 0);
        if (line.history.length > HISTORY) line.history.shift();
      }
    },
    open(event) {
      if (event.target.closest("a, button")) return;
      event.currentTarget.querySelector("a").click();
    },
    parts: (name) => name.split(/(?<=[._-])/), // where a long name may break
    count: (value) => (value == null ? "–" : whole.format(value)),
    rate: (value) => (value == null ? "–" : value > 0 && value < 10 ? value.toFixed(1) : whole.format(value)),
    bytes(value) {
      if (value == null) return "–";
      let unit = 0;
      while (value >= 1024 && unit < UNITS.length - 1) {
        value /= 1024;
        unit += 1;
      }
      return (unit && value < 10 ? value.toFixed(1) : whole.format(value)) + " " + UNITS[unit];
    },
    points(history) {
      const top = Math.max(...history, 1);
      const step = 72 / (HISTORY - 1);
      const first = HISTORY - history.length;
      return history.map((value, i) => `${((first + i) * step).toFixed(1)},${(18.5 - (17 * value) / top).toFixed(1)}`);
    },
    area(history) {
      const line = this.points(history);
      return [`${line[0].split(",")[0]},18.5`, ...line, "72,18.5"].join(" ");
    },
  },
};
