// Three states: as the system says, light, dark. The choice stays in this browser; theme.js applies it.
const CHOICES = [
  { value: "system", label: "Theme: as the system", icon: "icon-monitor" },
  { value: "light", label: "Theme: light", icon: "icon-sun" },
  { value: "dark", label: "Theme: dark", icon: "icon-moon" },
];

export default {
  template: `
    <div class="theme-switch" role="radiogroup" aria-label="Theme" @keydown="onKey">
      <button v-for="choice in choices" :key="choice.value" type="button" role="radio"
              :aria-checked="choice.value === current ? 'true' : 'false'" :aria-label="choice.label" :title="choice.label"
              :tabindex="choice.value === current ? 0 : -1" :data-theme-choice="choice.value" @click="choose(choice.value)">
        <span class="icon" :class="choice.icon" aria-hidden="true"></span>
      </button>
    </div>`,
  data() {
    return { choices: CHOICES, current: window.penstockTheme.choice() };
  },
  mounted() {
    window.penstockTheme.apply();
  },
  methods: {
    choose(value) {
      this.current = value;
      window.penstockTheme.choose(value);
    },
    onKey(event) {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const at = CHOICES.findIndex((choice) => choice.value === this.current);
      this.choose(CHOICES[(at + step + CHOICES.length) % CHOICES.length].value);
      this.$nextTick(() => this.$el.querySelector('[aria-checked="true"]').focus());
    },
  },
};
