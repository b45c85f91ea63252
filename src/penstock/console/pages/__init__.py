"""The pages, one module each: functions of the shared `Services`. `shell` puts them into one frame."""
