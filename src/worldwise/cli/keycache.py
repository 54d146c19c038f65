# SPDX-License-Identifier: BSD-2-Clause
"""`worldwise keycache`: the secure key cache of keycache/."""

import os
import shlex
import shutil
import sys
from pathlib import Path

import click

from worldwise.base import paths
from worldwise.base.output import safe_text
from worldwise.base.paths import cache_directory
from worldwise.cli.common.help_screen import Group
from worldwise.cli.common.progress import Steps
from worldwise.families.keycache import build as keycache_builds
from worldwise.families.keycache import demo as keycache_demo
from worldwise.families.keycache import images as keycache_images
from worldwise.families.keycache.build import Fuzzer
from worldwise.families.keycache.demo import ADMIN, CLIENTS, HELPER, KILLS, POLICIES, SECRET, STORAGES, DemoOptions
from worldwise.lab.image import ImageStore
from worldwise.lab.lab import open_lab
from worldwise.targets.optee_images import APP_CORE


@click.group(cls=Group)
def keycache() -> None:
    """The secure key cache (keycache/): a server for devices with OP-TEE that holds one key per client."""


# What most calls do without, as `--help-all` lists it: heading -> parameters.
_RARE = {"Also": ("storage", "policy", "allow_get", "clients", "acl", "mqtt_port")}


@keycache.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}, rare=_RARE)
@click.option("--port", default=6380, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
@click.option(
    "--storage", default="ree", show_default=True, type=click.Choice(STORAGES), help="Where the TA keeps keys."
)
@click.option(
    "--policy", default="smart", show_default=True, type=click.Choice(POLICIES), help="Which keys stay in its memory."
)
@click.option("--allow-get", is_flag=True, help="Let GET return keys to their owners.")
@click.option(
    "--client",
    "clients",
    multiple=True,
    default=CLIENTS,
    show_default=", ".join(CLIENTS),
    metavar="NAME",
    help=f"Who gets a certificate beside {ADMIN}; more than once for several.",
)
@click.option(
    "--acl",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="An access list (keycache/README.md); else each client may re-encrypt for the next.",
)
@click.option(
    "--directory",
    default="keycache-demo",
    show_default=True,
    type=click.Path(path_type=Path),
    help="The folder for the certificates; it is made now and removed at the end.",
)
@click.option(
    "--mqtt", is_flag=True, help="With a broker beside it (mosquitto and the key cache's plugin), for MQTT clients."
)
@click.option(
    "--mqtt-port",
    default=8883,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="The broker's; 0 takes a free one.",
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
def demo(
    port: int,
    storage: str,
    policy: str,
    allow_get: bool,
    clients: tuple[str, ...],
    acl: Path | None,
    directory: Path,
    mqtt: bool,
    mqtt_port: int,
    command: tuple[str, ...],
) -> None:
    """Start the key cache in an emulated machine (TF-A, OP-TEE, Linux), for Redis clients on this host.

    \b
      worldwise keycache demo
      worldwise keycache demo --mqtt
      worldwise keycache demo --port 0 -- ./my-test

    Clients reach it at 127.0.0.1 over TLS with certificates of a demo authority; it prints what to type. Ctrl-C ends
    it. The first time it builds the machine, which takes minutes; it says what it builds, and how long that takes.

    \f
    It begins anew every time: no keys, other certificates.

    With --mqtt the machine has an MQTT broker, too, which relays what it cannot read: stock clients publish and
    subscribe at 127.0.0.1, and each client has a key in the key cache and in a file.

    With COMMAND it runs that command, and ends with its exit status; KEYCACHE_DEMO, KEYCACHE_PORT and
    KEYCACHE_MQTT_PORT then name the folder with the certificates and the ports.
    """
    if command and shutil.which(command[0]) is None:
        raise click.UsageError(f"{command[0]} is not a program on this host.")
    options = DemoOptions(directory, port, storage, policy, allow_get, clients, acl, command, mqtt, mqtt_port)
    started = False
    steps = Steps()

    def ready(chosen: int, of_broker: int) -> None:
        nonlocal started
        started = True
        steps.end()
        if not command:
            safe_text.echo(_what_to_type(options, chosen, of_broker))

    try:
        lab = open_lab(steps.console)
        if said := keycache_demo.expected_builds(options, lab):
            steps.note(said)
        status = keycache_demo.serve(options, lab, steps.note, ready)
    except KeyboardInterrupt:
        if command or not started:
            raise
        safe_text.echo("worldwise: the key cache's machine is gone, and its keys and certificates with it", err=True)
        return
    finally:
        steps.end()
    sys.exit(status)


@keycache.command()
@click.option(
    "--output", required=True, type=click.Path(path_type=Path), metavar="DIR", help="The folder for the .deb files."
)
@click.option(
    "--ta",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A signed TA (`make -C keycache ta`, with your platform's dev kit), for the server's package.",
)
@click.option(
    "--demo-ta",
    is_flag=True,
    help="The emulated machine's TA in its place: for OP-TEEs that accept its dev kit's key, which everybody has.",
)
@click.option("--mosquitto-plugin", is_flag=True, help="The plugin for the MQTT broker mosquitto 2.1, too.")
def packages(output: Path, ta: Path | None, demo_ta: bool, mosquitto_plugin: bool) -> None:
    """Build the Debian packages of server, tool and library, for arm64.

    The same sources, and the same TA, give the same files, to the byte.

    \b
      worldwise keycache packages --output packages
      worldwise keycache packages --output packages --ta key-cache.ta
    """
    if demo_ta and ta is not None:
        raise click.UsageError("--ta and --demo-ta: choose one.")
    steps = Steps()
    try:
        if demo_ta:
            ta = _demo_ta(steps)
        made = keycache_builds.packages(output, ta, steps.note, plugin=mosquitto_plugin)
    finally:
        steps.end()
    for file in made:
        safe_text.echo(str(file))


def _demo_ta(steps: Steps) -> Path:
    """The TA of the demo's machine, built in the lab if need be."""
    lab = open_lab(steps.console)
    lab.ensure()
    built = keycache_builds.programs(steps.note)
    recipe = keycache_images.app_programs(APP_CORE, "O2", feature="", built=built)
    return ImageStore(lab, steps.note).get(recipe).file(f"{keycache_builds.TA_UUID}.ta")


@keycache.command()
@click.option(
    "--runs", default=10_000_000, show_default=True, type=click.IntRange(1), help="Executions, of all jobs together."
)
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(1, 256), help="Processes at a time.")
@click.option(
    "--corpus",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="A folder of inputs to begin with and to add to, instead of the one in the cache.",
)
@click.option(
    "--minimise",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Then copy to this folder the few inputs that reach all the code that any input reaches.",
)
def fuzz(runs: int, jobs: int, corpus: Path | None, minimise: Path | None) -> None:
    """Fuzz the server's reader of requests, its commands and the TA with libFuzzer, under ASan and UBSan.

    It begins with the inputs of keycache/fuzz/corpus.txt and those of earlier campaigns. The cache keeps new inputs.
    Exit status 1 if a fault was found.

    \b
      worldwise keycache fuzz --runs 1000000 --jobs 2
    """
    paths.require_writable(cache_directory())
    fuzzer = Fuzzer(cache_directory() / "keycache-fuzz", corpus, _note)
    with safe_text.console(stderr=True).status("fuzzing") as status:
        result = fuzzer.run(runs, jobs, lambda done: status.update(f"{done:,} of {runs:,} executions"))
    rows = {
        "executions": f"{result.executions:,} in {result.seconds:.0f} s",
        "coverage": f"{result.coverage:,} edges, {result.features:,} features",
        "corpus": f"{result.inputs:,} inputs, {result.size:,} bytes beside the repository's, in {fuzzer.corpus}",
        "findings": f"{len(result.findings)}",
        "logs": ", ".join(map(str, result.logs)),
    }
    for name, value in rows.items():
        safe_text.echo(f"{name:<10}  {value}")
    for finding in result.findings:
        safe_text.echo(f"found: {finding}")
    if result.findings:
        safe_text.echo(
            "The logs end with each problem and its place. `keycache/fuzz/corpus.py add` adds inputs, which tests try."
        )
        sys.exit(1)
    if minimise is not None:
        safe_text.echo(f"{'minimised':<10}  {fuzzer.minimise(minimise)} inputs in {minimise}")


def _note(text: str) -> None:
    safe_text.echo(f"worldwise: {text}", err=True)


def _what_to_type(options: DemoOptions, port: int, mqtt_port: int) -> str:
    """Commands that a person can copy into another terminal, from any directory."""
    folder = options.directory.absolute()
    # The root's own program is shown this folder of the directory that it is started from.
    name = shlex.quote(folder.name)
    clone = shlex.quote(os.path.relpath(paths.REPOSITORY / "worldwise", folder.parent))
    tool = "worldwise" if paths.INSTALLED else clone
    kc = (
        '  kc() { who=$1; shift; redis-cli --tls --cacert NAME/ca.crt --cert "NAME/$who.crt" '
        '--key "NAME/$who.key" -p PORT "$@"; }'.replace("NAME", name).replace("PORT", str(port))
    )
    end = "Ctrl-C ends it and removes its files. Its random numbers are an emulator's: only for trials."
    if options.mqtt:
        lines = [
            f"The broker answers at 127.0.0.1:{mqtt_port}, the key cache at 127.0.0.1:{port}, over TLS. In another "
            "terminal:",
            "",
            f"  cd {shlex.quote(str(folder.parent))}",
            *_mqtt_lines(options, name, mqtt_port),
            kc,
            *_revoking_lines(options),
            "",
            "Where there is no mosquitto_pub and mosquitto_sub, no redis-cli, or no Python with cryptography: a shell "
            "that has them, after cd:",
            "",
            f"  {tool} lab enter --root broker --network --lend {name} bash",
            "",
            "To see what happens without broker or key cache for a moment:",
            "",
            *(f"  touch {name}/{file}" for file in KILLS),
            "",
            end,
        ]
    else:
        lines = [
            f"The key cache answers at 127.0.0.1:{port}, over TLS. In another terminal:",
            "",
            f"  cd {shlex.quote(str(folder.parent))}",
            kc,
            *_redis_lines(options),
            "",
            "Where there is no redis-cli, this before all else:",
            "",
            f'  redis-cli() {{ {tool} lab enter --root keycache --network --lend {name} redis-cli "$@"; }}',
            "",
            end,
        ]
    return "\n".join(lines)


def _redis_lines(options: DemoOptions) -> list[str]:
    """One client seals and opens a message, and passes it on to the next; each line runs as it is."""
    one, other = (shlex.quote(client) for client in (*options.clients, *options.clients)[:2])
    lines = [
        # A message holds any bytes, which no argument of a program can: redis-cli reads them quoted from its input.
        """  ask() { name=$1; shift; printf '%s\\n' "$*" | kc "$name" --no-raw; }""",
        """  words() { sed 's/^[12]) //' | tr '\\n' ' '; }      # a message: its nonce and its ciphertext""",
        f"  kc {ADMIN} set {one} 0123456789abcdef",
        *([f"  kc {one} get {one}"] if options.allow_get else []),
        f"  sealed=$(ask {one} seal {one} hello | words)",
        "  printf '%s\\n' \"$sealed\"",
        f'  ask {one} open {one} "$sealed"',
    ]
    if other != one:
        right = f"      # if the access list lets {one}" if options.acl else ""
        lines += [
            f"  kc {ADMIN} set {other} fedcba9876543210",
            f'  theirs=$(ask {one} reencrypt {one} {other} "$sealed" | words){right}',
            f'  ask {other} open {other} "$theirs"',
            f"  kc {other} seal {one} hello      # {other} gets the answer: no such key",
        ]
    return [*lines, f"  kc {ADMIN} info"]


def _mqtt_lines(options: DemoOptions, name: str, port: int) -> list[str]:
    """One client publishes, and the last of the others opens its own copy."""
    one, other = (shlex.quote(client) for client in (options.clients[0], options.clients[-1]))
    sub = f"mosquitto_sub $(tls {other}) -t news -C 1"
    return [
        "  tls() { echo --cafile NAME/ca.crt --cert NAME/$1.crt --key NAME/$1.key -h 127.0.0.1 -p PORT; }".replace(
            "NAME", name
        ).replace("PORT", str(port)),
        f'  payload() {{ python3 {name}/{HELPER} "$@"; }}',
        f"  echo hello | payload seal {one} {name}/{one}{SECRET} | mosquitto_pub $(tls {one}) -t news -q 1 -r -s",
        f"  {sub} -N | payload open {name}/{other}{SECRET}",
        f"  {sub} -N | od -c | head -n 3      # what goes over the wire",
    ]


def _revoking_lines(options: DemoOptions) -> list[str]:
    """The same client gets nothing once its key is gone."""
    other = shlex.quote(options.clients[-1])
    return [
        f"  kc {ADMIN} del {other}      # {other} is revoked",
        f"  mosquitto_sub $(tls {other}) -t news -C 1 -W 3 | wc -c",
    ]
