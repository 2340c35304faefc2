#!/bin/sh
# A scripted coding agent: does its work, then tries to get out.
try() {
    printf 'agent: %s ... ' "$1"
    if sh -c "$2" 2>/dev/null; then echo "done"; else echo "FAILED"; fi
}
try "edits the code" 'echo "print(\"hello, world\")" > hello.py'
try "commits it" 'git commit --quiet --all --message "Greet the world"'
try "writes a file outside of its workspace" 'echo escaped > ../escaped.txt'
try "rewrites the configuration to let itself out" 'printf "[sandbox]\nmode = \"disabled\"\n" > ../sandbox.toml'
