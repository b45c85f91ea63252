// Lines over time as one SVG that fills its box. Colours are the theme's, so light and dark need nothing here.
const WIDTH = 600;
const HEIGHT = 140;

export default {
  template: `
    <figure class="card chart">
      <figcaption class="chart-head">
        <span class="chart-title">{{ title }}</span>
        <span class="chart-legend">
          <span v-for="(line, i) in lines" :key="line.name" class="chart-key">
            <span class="chart-swatch" :class="'series-' + (i % 6)" aria-hidden="true"></span>{{ line.name }}
            <b>{{ text(last(line)) }}</b>
          </span>
        </span>
      </figcaption>
      <div class="chart-body" v-if="drawable" ref="body" @mousemove="point" @mouseleave="at = null">
        <svg :viewBox="'0 0 ${WIDTH} ${HEIGHT}'" preserveAspectRatio="none" role="img" :aria-label="described">
          <path v-for="y in [0, 0.5, 1]" :key="y" class="chart-rule" :d="'M0 ' + (2 + y * 136) + 'H600'" />
          <g v-for="(line, i) in lines" :key="line.name" :class="'series-' + (i % 6)">
            <polygon v-if="lines.length === 1" class="chart-area" :points="area(line)" />
            <polyline class="chart-line" :points="path(line)" />
          </g>
          <path v-if="at !== null" class="chart-cursor" :d="'M' + x(at) + ' 0V140'" />
        </svg>
        <span class="chart-top">{{ text(top) }}</span><span class="chart-floor">{{ text(0) }}</span>
        <span v-if="at !== null" class="chart-tip" :style="tipStyle">
          {{ when(at) }}<template v-for="line in lines"> · {{ line.name }} {{ text(line.values[at]) }}</template>
        </span>
      </div>
      <p v-else class="chart-empty">{{ waiting }}</p>
      <div class="chart-axis" v-if="drawable"><span>{{ when(0) }}</span><span>{{ when(times.length - 1) }}</span></div>
    </figure>`,
  props: { title: String, kind: String, series: Array, moments: Array, waiting: String },
  data() {
    return { lines: Vue.toRaw(this.series ?? []), times: Vue.toRaw(this.moments ?? []), at: null };
  },
  computed: {
    drawable() {
      return this.times.length > 1 && this.lines.length > 0;
    },
    top() {
      const values = this.lines.flatMap((line) => line.values.filter((value) => value != null));
      return nice(Math.max(...values, this.kind === "percent" ? 100 : 1), this.kind.startsWith("bytes") ? 2 : 10);
    },
    described() {
      return `${this.title}: ` + this.lines.map((line) => `${line.name} ${this.text(this.last(line))}`).join(", ");
    },
    tipStyle() {
      const share = this.at / Math.max(this.times.length - 1, 1);
      return share < 0.5 ? { left: `${share * 100}%` } : { right: `${(1 - share) * 100}%` };
    },
  },
  methods: {
    show(times, series) {
      this.times = times;
      this.lines = series;
      this.at = null;
    },
    text(value) {
      return window.penstockFormat.text(this.kind, value);
    },
    last: (line) => line.values[line.values.length - 1],
    x(i) {
      return ((i / Math.max(this.times.length - 1, 1)) * WIDTH).toFixed(1);
    },
    y(value) {
      return (138 - (136 * value) / this.top).toFixed(1);
    },
    path(line) {
      return line.values.map((value, i) => (value == null ? "" : `${this.x(i)},${this.y(value)}`)).join(" ");
    },
    area(line) {
      return `0,138 ${this.path(line)} ${WIDTH},138`;
    },
    when(i) {
      return new Date(this.times[i] * 1000).toLocaleTimeString("en-GB");
    },
    point(event) {
      const box = this.$refs.body.getBoundingClientRect();
      const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
      this.at = Math.round(share * (this.times.length - 1));
    },
  },
};

// The next number that a person would put on an axis.
function nice(value, base) {
  const power = base ** Math.floor(Math.log(value) / Math.log(base));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value);
}
