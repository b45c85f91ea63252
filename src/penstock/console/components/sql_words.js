// Completion for a code editor: words of the language, and names that the server knows. No look of its own.
import * as CM from "nicegui-codemirror";

export default {
  template: `<span hidden></span>`,
  props: { editor: Number, words: Array },
  watch: {
    words(words) {
      this.known = words;
    },
  },
  async mounted() {
    this.known = this.words;
    const view = await this.view();
    if (!view) return;
    const source = (context) => {
      const word = context.matchBefore(/[\w.`]+/);
      if (!word || (word.from === word.to && !context.explicit)) return null;
      return { from: word.from, options: this.known, validFor: /^[\w.`]*$/ };
    };
    const data = CM.EditorState.languageData.of(() => [{ autocomplete: source }]);
    view.dispatch({ effects: CM.StateEffect.appendConfig.of(data) });
  },
  methods: {
    // The editor makes its view a moment after it is mounted.
    async view() {
      for (let tries = 0; tries < 100; tries++) {
        await new Promise((resolve) => setTimeout(resolve, 50)); // no element can be had before the page is mounted
        const editor = getElement(this.editor);
        if (editor?.editor) return editor.editor;
      }
      return null;
    },
  },
};
