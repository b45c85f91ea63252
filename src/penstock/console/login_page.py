"""The page at which a person logs in: plain HTML, without a script."""

from __future__ import annotations

from html import escape
from typing import Final

_STYLE: Final = """
body { font: 16px/1.5 system-ui, sans-serif; display: grid; place-items: center; min-height: 100vh; margin: 0;
       color-scheme: light dark; background: Canvas; color: CanvasText; }
form { width: min(20rem, 90vw); display: grid; gap: 0.75rem; }
h1 { font-size: 1.25rem; display: flex; gap: 0.5rem; align-items: center; margin: 0 0 0.5rem; }
label { display: grid; gap: 0.25rem; font-size: 0.875rem; }
input, button { font: inherit; padding: 0.5rem 0.75rem; border-radius: 6px; border: 1px solid GrayText; }
button { cursor: pointer; border: 0; background: #1f5eff; color: #fff; }
button:focus-visible, input:focus-visible { outline: 3px solid #1f5eff; outline-offset: 2px; }
.refused { margin: 0; color: light-dark(#a30000, #ff9c9c); }
"""


def login_page(to: str, refused: str = "") -> str:
    """`to` is where the person wanted to go, `refused` why the last attempt failed."""
    told = f'<p class="refused" role="alert">{escape(refused)}</p>' if refused else ""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Log in</title><link rel="icon" href="/assets/favicon.svg"><style>{_STYLE}</style></head>
<body><main><form method="post" action="/login">
<h1><img src="/assets/favicon.svg" width="28" height="28" alt="">Log in</h1>{told}
<input type="hidden" name="next" value="{escape(to)}">
<label>Name <input name="name" autocomplete="username" autofocus required></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required></label>
<button type="submit">Log in</button></form></main></body></html>"""
