"""JSON Schema, drafts 4 to 2020-12: references (`places`), what a schema says (`shapes`), compatibility."""
