# Answers are fields of any bytes, each ended by a NUL.
field() { printf '%s\0' "$@"; }

# Ends with an answer that says why nothing was done.
refuse() {
  field "$@"
  exit 0
}
