#!/bin/sh
# Install Chromium where it is missing and this user may; elsewhere say what to do. The tests of the page fail
# without it, unless BPETITE_BROWSER=none leaves them out.
set -eu
[ "${BPETITE_BROWSER:-}" = "" ] || exit 0
for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null; then exit 0; fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing Chromium for the tests of the viewer's page"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null
    exit 0
fi
echo "The tests of the viewer's page need Chromium, and this user cannot install it." >&2
echo "Install it, or name one with BPETITE_BROWSER=/path, or leave those tests out with BPETITE_BROWSER=none." >&2
