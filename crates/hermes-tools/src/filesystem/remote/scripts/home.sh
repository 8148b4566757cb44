[ -n "$HOME" ] || refuse missing
resolve "$HOME"
field home "$HOME" "$real"
