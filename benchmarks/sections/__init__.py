"""One module for each part of the report; each has `run(bench)`, which gives its tables one by one."""
