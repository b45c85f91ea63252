"""Elements of the pages: tables with their JavaScript beside them, form fields, buttons, the theme switch."""
