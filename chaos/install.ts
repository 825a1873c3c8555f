import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Findings } from './support/findings.js';

/**
 * npm run proof -- install
 * Follows docs/install.md on an empty root file system of Debian 12 with no network but its own loopback interface: builds the package, runs every
 * command block of the page in its order, and checks what the page promises. Only systemctl is a stand-in, since systemd cannot run here; it starts
 * the units by their files. Needs root.
 */
const ROOT = join(import.meta.dirname, '..');
const NAMES = { VERSION: versionOf(), NAME: 'sign.test.example', ADMIN: 'ann@test.example' };
const NEXT = '99.0.0';
const PASSWORD = 'seven words that nobody would guess here';
/** What step 2 of the page installs beside the package itself, and what the image lacks without it. */
const PACKAGES = [
  /^apt-get install --yes ([\w .-]+)$/m.exec(page())?.[1]?.split(' ') ?? [],
  'ca-certificates',
  'iproute2',
].flat();

/** The page of the link sends the token of its address with the password. */
const CHOOSE_PASSWORD = [
  `LINK=$(grep -o 'https://[^ ]*' /tmp/setup.out | tail -n 1)`,
  `RESET=$(sed 's/.*[#=]//' <<< "$LINK")`,
  `curl --silent --show-error --fail --resolve $NAME:443:127.0.0.1 --cacert /etc/nginx/sealwright.pem --json "{\\"token\\":\\"$RESET\\",\\"password\\":\\"${PASSWORD}\\"}" https://$NAME/api/auth/password/reset`,
].join('\n');

const findings = new Findings(true);
const { say, check, conclude } = findings;
const place = mkdtempSync(join(tmpdir(), 'sealwright-install-'));
const root = join(place, 'root');

try {
  say('making the root file system …');
  execFileSync('mmdebstrap', ['--variant=minbase', `--include=${PACKAGES.join(',')}`, 'bookworm', root], {
    stdio: 'pipe',
  });
  cpSync(join(import.meta.dirname, 'install/systemctl'), join(root, 'usr/local/sbin/systemctl'));
  say('building the packages …');
  pack(NAMES.VERSION);
  pack(NEXT);
  say('following docs/install.md …');
  const { code, out } = inside(scriptOf(page()));
  writeFileSync(join(tmpdir(), 'sealwright-install.log'), out);
  const parts = out.split(/^=== (.+)$/m);
  const said = (title: string) => parts[parts.indexOf(title) + 1] ?? '';
  const tail = out.slice(-2000);
  check('every command of the page succeeds', code === 0, code === 0 ? '' : tail);
  check('setup prints a link for the administrator', /https:\/\/sign\.test\.example\/\S+/.test(said('3. Setup')));
  check('doctor finds nothing bad after the start', /^0 bad, /m.test(said('4. Start')), said('4. Start').trim());
  check('openssl verifies the first signature', said('6. First signature').includes('Verified OK'));
  check('the backup is whole', said('7. Backup').includes('files are as they were made'));
  check(
    'the upgrade runs the new version',
    said('8. Upgrade').includes(`${NEXT}+`),
    said('8. Upgrade').trim().split('\n').at(-1),
  );
  check(
    'the restore is accepted and serves',
    /^0 bad, /m.test(said('9. Restore')),
    said('9. Restore').trim().split('\n').at(-1),
  );
} finally {
  rmSync(place, { recursive: true, force: true, maxRetries: 3 });
}
conclude('The page leads from an empty Debian to a signature, an upgrade and a restore.');

function page(): string {
  return readFileSync(join(ROOT, 'docs/install.md'), 'utf8');
}

function versionOf(): string {
  return (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version;
}

/** Builds the package as release engineers do; a later version is the same build under another number. */
function pack(version: string): void {
  const packages = join(ROOT, 'dist/packages');
  execFileSync(process.execPath, [join(ROOT, 'scripts/server-package.mjs'), '--version', version], { stdio: 'pipe' });
  mkdirSync(join(root, 'root'), { recursive: true });
  for (const name of readdirSync(packages).filter((file) => file.startsWith(`sealwright_${version}_`)))
    renameSync(join(packages, name), join(root, 'root', name));
}

/**
 * The blocks of the page as one script. A person's part is played: the names of step 1 are others, the password is chosen by the link that setup printed,
 * and typed where the page reads it.
 */
function scriptOf(text: string): string {
  const lines = ['set -euo pipefail', 'exec 2>&1', 'cd /root'];
  for (const section of text.split(/^## /m).slice(1)) {
    const title = section.slice(0, section.indexOf('\n'));
    lines.push(`echo '=== ${title}'`);
    if (title.startsWith('6. ')) lines.push(CHOOSE_PASSWORD);
    for (const [, block = ''] of section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)) {
      if (title.startsWith('1. '))
        lines.push(...Object.entries(NAMES).map(([name, value]) => `export ${name}=${value}`));
      else if (title.startsWith('3. '))
        lines.push(block.replace(/^(sealwright-admin setup .*)$/m, '$1 | tee /tmp/setup.out'));
      else lines.push(played(block));
    }
  }
  return lines.join('\n');
}

function played(block: string): string {
  return block
    .replace('read -rs PASSWORD', `PASSWORD='${PASSWORD}'`)
    .replace(/^export NEXT=.*$/m, `export NEXT=${NEXT}`)
    .replace(/^apt-get update$/m, ': no network here')
    .replaceAll('--json @-', `--json @- --resolve $NAME:443:127.0.0.1`)
    .replaceAll(/(curl --silent --fail) (--oauth2-bearer)/g, '$1 --resolve $NAME:443:127.0.0.1 $2');
}

/** Runs a script in the root file system, with a network of its own and no processes of this machine. */
function inside(script: string): { code: number; out: string } {
  writeFileSync(join(root, 'root/page.sh'), script);
  const enter = [
    'ip link set lo up && hostname "$2"',
    'mount --bind "$1" "$1" && mount -t proc proc "$1/proc" && mount -t tmpfs tmpfs "$1/run" && mount -t tmpfs tmpfs "$1/dev"',
    'for d in null zero full random urandom; do touch "$1/dev/$d"; mount --bind "/dev/$d" "$1/dev/$d"; done',
    'ln -s /proc/self/fd "$1/dev/fd"; mkdir "$1/dev/shm"; mount -t tmpfs tmpfs "$1/dev/shm"',
    'chroot "$1" install -d -o postgres -g postgres /run/postgresql',
    'exec chroot "$1" /bin/bash /root/page.sh',
  ].join('\n');
  const environment = {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: '/root',
    LC_ALL: 'C.UTF-8',
    DEBIAN_FRONTEND: 'noninteractive',
  };
  const flags = ['--mount', '--net', '--pid', '--uts', '--ipc', '--fork', '--kill-child'];
  const { status, stdout, stderr } = spawnSync(
    'unshare',
    [...flags, 'bash', '-euc', enter, 'install', root, NAMES.NAME],
    {
      env: environment,
      encoding: 'utf8',
      timeout: 900_000,
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  return { code: status ?? 1, out: `${stdout}${stderr}` };
}
