// A graph of topics and what moves records between them. Positions come from the server; a tick changes only texts, tones
// and speeds. An edge with a rate moves, the faster the more records; with reduced motion nothing moves.
const WIDTH = 210;
const HEIGHT = 62;
const PAD = 12;

export default {
  template: `
    <div class="card graph-card">
      <div v-if="graph.nodes.length" class="graph-scroll" tabindex="0" role="region" :aria-label="title">
        <svg class="graph" :width="graph.width + 2 * pad" :height="graph.height + 2 * pad" role="group" :aria-label="described">
          <g :transform="'translate(' + pad + ',' + pad + ')'">
            <g v-for="edge in graph.edges" :key="edge.id" class="edge" :class="edge.tone">
              <path class="edge-line" :d="curve(edge)" />
              <path v-if="edge.rate" class="edge-flow" :d="curve(edge)" :style="{ animationDuration: speed(edge.rate) }" />
              <text v-if="edge.label" class="edge-label" :x="(edge.x1 + edge.x2) / 2" :y="(edge.y1 + edge.y2) / 2 - 6">{{ edge.label }}</text>
            </g>
            <component v-for="node in graph.nodes" :key="node.id" :is="node.href ? 'a' : 'g'" :href="node.href ? prefix + node.href : null"
                       class="node" :class="['node-' + node.kind, node.tone]" :transform="'translate(' + node.x + ',' + node.y + ')'">
              <title>{{ node.label }}{{ node.detail ? ': ' + node.detail : '' }}</title>
              <rect class="node-box" width="210" height="62" :rx="node.kind === 'topic' ? 31 : 8" />
              <text class="node-kind" x="18" y="18">{{ node.kind }}</text>
              <text class="node-label" x="18" y="35">{{ cut(node.label, 26) }}</text>
              <text class="node-detail" x="18" y="52">{{ cut(node.detail, 30) }}</text>
            </component>
          </g>
        </svg>
      </div>
      <div v-else class="empty" role="status">
        <span class="icon icon-route" aria-hidden="true"></span>
        <p class="empty-title">{{ nothing.title }}</p>
        <p class="empty-text">{{ nothing.text }}</p>
      </div>
    </div>`,
  props: { title: String, start: Object, empty: Object },
  data() {
    return { graph: Vue.toRaw(this.start), nothing: this.empty, prefix: window.path_prefix ?? "", pad: PAD };
  },
  computed: {
    described() {
      const names = Object.fromEntries(this.graph.nodes.map((node) => [node.id, `${node.kind} ${node.label}`]));
      return `${this.title}: ` + this.graph.edges.map((edge) => `${names[edge.from]} to ${names[edge.to]}`).join(", ");
    },
  },
  methods: {
    show(graph) {
      this.graph = graph;
    },
    curve(edge) {
      const bend = Math.max(30, Math.abs(edge.x2 - edge.x1) / 2);
      return `M${edge.x1} ${edge.y1}C${edge.x1 + bend} ${edge.y1} ${edge.x2 - bend} ${edge.y2} ${edge.x2} ${edge.y2}`;
    },
    speed: (rate) => `${Math.max(0.35, 3 / (1 + Math.log10(1 + rate))).toFixed(2)}s`,
    cut: (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text),
  },
};
