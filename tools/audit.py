"""Dependencies and workflows → a line for each check: `make audit`.

The exit code is 0 only if every check was made and found nothing. A check that could not reach its
source is reported as that, and also fails.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parent.parent

OUT_OF_REACH = (
    "failed to fetch",
    "Failed to resolve",
    "Dependency not found on PyPI and could not be audited",
    "ConnectionError",
    "timed out",
)
"""What the tools print if they could not reach their source."""


def main() -> int:
    """Run every check, print its result, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python tools/audit.py", description=__doc__)
    parser.add_argument("--cargo-deny", required=True, metavar="FILE", help="the program")
    options = parser.parse_args()
    deny = [
        options.cargo_deny,
        "--manifest-path",
        "rust/Cargo.toml",
        "--config",
        "deny.toml",
        "check",
    ]
    python = [sys.executable, "-m"]
    zizmor = str(Path(sys.executable).parent / "zizmor")
    workflows = sorted(map(str, Path(PROJECT, ".github", "workflows").glob("*.yml")))
    checks = {
        "Rust: licences, sources, duplicates": [*deny, "licenses", "sources", "bans"],
        "Rust: advisories, yanked versions": [*deny, "advisories"],
        "Python: advisories": [
            *python, "pip_audit", "--strict", "--skip-editable", "--progress-spinner", "off"
        ],
        "Workflows: schema": [
            *python, "check_jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows
        ],
        "Workflows: security": [zizmor, "--offline", "--quiet", *workflows],
    }  # fmt: skip
    outcomes = {name: _outcome(command) for name, command in checks.items()}
    for name, outcome in outcomes.items():
        print(f"{name:36} {outcome}")
    return 0 if set(outcomes.values()) == {"good"} else 1


def _outcome(command: list[str]) -> str:
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return "good"
    said = done.stdout + done.stderr
    if any(sign in said for sign in OUT_OF_REACH):
        return "NOT CHECKED: what it asks could not be reached"
    print(said, file=sys.stderr)
    return "FINDINGS, see above"


if __name__ == "__main__":
    sys.exit(main())
